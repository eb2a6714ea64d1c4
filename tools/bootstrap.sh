# Shared by tools/umi-sim and tools/test: makes .venv from nothing but a Python, and is quick when it is there.
# Sourced by POSIX sh. The caller sets `root` (absolute) and `me` (its name in messages); `umi_venv run` or
# `umi_venv test` returns when "$python" has what that use needs, else ends with one line and status 2.
#
# .venv belongs to these scripts. .venv/umi.stamp is written last, and says what the environment was made of:
#   line 1  the folder it was made for          a copied or moved folder has another
#   line 2  the interpreter behind bin/python   an upgraded or removed one is another file
#   line 3  a digest of what pip was asked      build-system, project, tool.hatch; not the settings of tools
#   line 4  run, or test (which includes run)
# No stamp: the environment is half made, and is made again from nothing.

venv=$root/.venv
python=$venv/bin/python
stamp=$venv/umi.stamp
unset PYTHONDONTWRITEBYTECODE   # without byte code every start compiles both packages again, ten times the time of a replay

umi_stop() {
    printf '%s: %s\n' "$me" "$1" >&2
    exit 2
}

umi_whole() {   # is .venv complete, for some use, made here and by an interpreter that still exists?
    [ -f "$stamp" ] || return 1
    { IFS= read -r made_for && IFS= read -r made_by && IFS= read -r made_of && IFS= read -r made_as; } <"$stamp" || return 1
    [ "$made_for" = "$root" ] && [ "$python" -ef "$made_by" ]
}

umi_serves() {  # does what umi_whole has read cover this use?
    [ "$made_as" = "$1" ] || [ "$made_as" = test ]
}

umi_venv() {
    # The way of every start but the first: built-ins only, no process.
    [ -z "${UMI_PYTHON:-}" ] && [ "$stamp" -nt "$root/pyproject.toml" ] && umi_whole && umi_serves "$1" && return

    umi_pick
    [ -w "$root" ] || umi_stop "cannot make .venv: $root is not writable by you"
    exec 9>>"$root/.venv.lock"
    digest=$("$base" -c "$umi_lock" "$root/pyproject.toml" "$me" 9>&9) || umi_stop "cannot go on, see above"
    if umi_whole && umi_serves "$1" && [ "$made_by" -ef "$base" ] && [ "$made_of" = "$digest" ]; then
        touch -r "$root/.venv.lock" "$stamp"    # pyproject.toml was touched, or another start has just made all
    else
        umi_make "$1"
    fi
    exec 9>&-   # opens the lock
}

umi_pick() {    # sets base (the interpreter itself, links resolved) and version
    if [ -n "${UMI_PYTHON:-}" ]; then
        set -- "$UMI_PYTHON"
        found="UMI_PYTHON=$UMI_PYTHON is not a Python that runs"
    else
        set -- "$python" python3 python3.13 python3.12 python3.11 python3.14 python
        found="no Python found"
    fi
    for name in "$@"; do
        command -v "$name" >/dev/null 2>&1 || continue
        said=$("$name" -c "$umi_probe" 2>/dev/null)
        case $?:$said in
            0:3.*\ /*) version=${said%% *} base=${said#* }; return ;;
            3:*) found="$name is Python $said" ;;
            4:*) found="$name (Python $said) lacks the modules venv and ensurepip (Debian, Ubuntu: apt install python3-venv)" ;;
        esac
    done
    umi_stop "$found; Umi needs Python 3.11 or later with venv: install one, or name it in UMI_PYTHON"
}

umi_make() {
    use=$1 kept=no made_here=no
    trap 'exit 130' INT TERM    # and not on to "pip gave up by itself", below
    if umi_whole && [ "$made_by" -ef "$base" ]; then
        [ "$made_as" = run ] || use=test
        mv -f "$stamp" "$venv/kept.stamp" && kept=yes   # killed from here on: no stamp, so made again from nothing
        echo "$me: bringing .venv up to date ..." >&2
    else
        echo "$me: making .venv with Python $version, once; this takes a minute ..." >&2
        made_here=yes
        rm -rf "$venv"
        log=$("$base" -m venv "$venv" 2>&1) || umi_stop "$base cannot make a virtual environment ($(umi_last "$log")); name another Python in UMI_PYTHON"
    fi
    what=$root
    [ "$use" = run ] || what="${root}[test]"
    log=$(
        PIP_RETRIES=${PIP_RETRIES:-2} PIP_DEFAULT_TIMEOUT=${PIP_DEFAULT_TIMEOUT:-20} \
            "$python" -m pip install --quiet --disable-pip-version-check --no-input --editable "$what" 2>&1
    ) || {
        [ "$kept" = no ] || mv -f "$venv/kept.stamp" "$stamp"   # pip gave up by itself: nothing was changed
        printf '%s\n' "$log" >"$venv/install.log"
        umi_stop "cannot install what Umi needs ($(umi_last "$log")); if the network is away, come back with it and run this again; all pip said is in .venv/install.log"
    }
    printf '%s\n' "$root" "$base" "$digest" "$use" >"$venv/new.stamp"
    touch -r "$root/.venv.lock" "$venv/new.stamp"       # as old as the reading of pyproject.toml
    mv -f "$venv/new.stamp" "$stamp"
    rm -f "$venv/kept.stamp"
    trap - INT TERM
    [ "$made_here" = no ] || [ "$me" != umi-sim ] || umi_tell_name
}

umi_tell_name() {   # reports name the command as `pip install` makes it; a checkout has it under tools/
    ! command -v umi-sim >/dev/null 2>&1 || return 0
    echo "$me: reports call this command umi-sim; to copy what they print: alias umi-sim='$root/tools/umi-sim'" >&2
}

umi_last() {    # the line that tells most: the last error, else the last line
    printf '%s\n' "$1" | {
        error='' last=''
        while IFS= read -r line; do
            case $line in *ERROR:\ *) error=${line##*ERROR: } ;; *[!\ ]*) last=$line ;; esac
        done
        printf '%s' "${error:-$last}"
    }
}

# Says "version path". Must parse in any Python. Status 3: too old. Status 4: no venv.
umi_probe='
import os, sys
version = "%d.%d.%d" % sys.version_info[:3]
if sys.version_info < (3, 11):
    print(version)
    sys.exit(3)
try:
    import ensurepip, venv
except ImportError:
    print(version)
    sys.exit(4)
print(version + " " + os.path.realpath(sys.executable))
'

# Locks descriptor 9 (the shell keeps it, and the system opens it when the shell ends, however it ends), notes the
# time, then reads pyproject.toml and says the digest.
umi_lock='
import fcntl, hashlib, json, os, sys, tomllib
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print(sys.argv[2] + ": waiting for another start that makes .venv ...", file=sys.stderr)
    fcntl.flock(9, fcntl.LOCK_EX)
os.utime(9)
with open(sys.argv[1], "rb") as file:
    settings = tomllib.load(file)
asked = [settings.get("build-system"), settings.get("project"), settings.get("tool", {}).get("hatch")]
print(hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest())
'
