#!/usr/bin/env bash
# The step of action.yml that runs: stores first, then sweeps. Fails if one of them does, after all of them.
#
#     TARGETS        adapters as MODULE:CLASS, one on a line
#     SECONDS_EACH   how long each is tested
#     SCENARIOS      files or names of scenarios; `all`: those that come with umi-sim
#     COUNT          fresh seeds of each scenario
set -uo pipefail

umi_sim=${UMI_SIM:-umi-sim}
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
worst=0

# Runs a command; its report goes to the log and to the summary of the job.
report() {
    local title=$1 status
    shift
    echo "::group::$title"
    "$@" 2>&1 | tee .umi-sim/report.txt
    status=${PIPESTATUS[0]}
    echo "::endgroup::"
    { echo "### $title: exit $status"; echo '```'; cat .umi-sim/report.txt; echo '```'; } >> "$summary"
    [ "$status" -gt "$worst" ] && worst=$status
    return 0
}

mkdir -p .umi-sim
if [ -z "${TARGETS//[[:space:]]/}${SCENARIOS//[[:space:]]/}" ]; then
    echo "umi-sim: name adapters in targets, or scenarios in scenarios: there is nothing to run"
    exit 2
fi
while read -r target; do
    [ -n "$target" ] || continue
    report "$target" "$umi_sim" target "$target" --seconds "$SECONDS_EACH" --all --no-color < /dev/null
done <<< "$TARGETS"
# Pages of what was found: a failure is looked at before it is run again.
for file in .umi-sim/targets/*.json; do
    [ -e "$file" ] && "$umi_sim" html "$file" --out "${file%.json}.html" > /dev/null
done
if [ -n "${SCENARIOS//[[:space:]]/}" ]; then
    [ "$SCENARIOS" = all ] && SCENARIOS=
    # Not in quotes: several scenarios on a line.
    report "sweep ${SCENARIOS:-of all scenarios}" "$umi_sim" sweep $SCENARIOS --count "$COUNT" \
        --base "${GITHUB_SHA:-0}" --html .umi-sim/sweep.html --no-color
fi
rm -f .umi-sim/report.txt
exit "$worst"
