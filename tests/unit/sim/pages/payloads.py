"""Texts that a page must show and never obey: 17 bodies in 7 wrappings."""

from typing import Final

CALL: Final = "window.obeyed=1"
BODIES: Final = (
    f"<script>{CALL}</script>",
    f"</script><script>{CALL}</script>",
    f"<img src=x onerror={CALL}>",
    f"<svg onload={CALL}>",
    f"<svg><script>{CALL}</script></svg>",
    f"<iframe srcdoc='<script>parent.{CALL}</script>'></iframe>",
    f"<body onload={CALL}>",
    f"<details open ontoggle={CALL}>",
    f"<input autofocus onfocus={CALL}>",
    f"<a href=javascript:{CALL}>link</a>",
    "<base href=https://example.invalid/>",
    "<meta http-equiv=refresh content='0;url=https://example.invalid/'>",
    "<link rel=stylesheet href=https://example.invalid/a.css>",
    "<style>*{display:none}</style>",
    f"{{{{constructor.constructor('{CALL}')()}}}}",
    "<!--<script>",
    f'"];{CALL};//',
)
WRAPPINGS: Final = (
    "{}", "]]>{}", "--!>{}", "</title></style></textarea>{}", "\u2028{}\u2029", "\u202e{}\x00", '"\'>{}<"',
)  # fmt: skip
PAYLOADS: Final = tuple(wrapping.replace("{}", body) for body in BODIES for wrapping in WRAPPINGS)

assert len(PAYLOADS) == 119


def poisoned(value: object, at: list[int]) -> object:
    """Plain data with a payload behind every text in it, one after the other; `at` counts."""
    match value:
        case str():
            at[0] += 1
            return value + PAYLOADS[at[0] % len(PAYLOADS)]
        case dict():
            return {key: poisoned(inner, at) for key, inner in value.items()}
        case list():
            return [poisoned(inner, at) for inner in value]
    return value
