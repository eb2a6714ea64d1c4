"""The outcome as JUnit XML: test cases for each scenario and each failure (new or earlier), and `harness`."""

import re
from collections.abc import Iterable, Iterator
from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from umi_sim.kernel.report import Line, Report, laid_out
from umi_sim.kernel.wording import escape_text, plural
from umi_sim.sweep.report import apart_lines, found_lines, missed_line
from umi_sim.sweep.totals import FOUND_COUNT_MAX, SweepOutcome

NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_xml(outcome: SweepOutcome) -> bytes:
    """Return the whole file. Characters that XML forbids are escaped as on a screen."""
    suite = Element("testsuite", name="umi-sim sweep")
    suite.extend([*scenarios(outcome), *fingerprints(outcome), *earlier(outcome), harness(outcome)])
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in suite)))
    suite.set("errors", str(sum(case.find("error") is not None for case in suite)))
    suites = Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    data: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def case_of(kind: str, name: str, verdict: str = "", message: str = "", text: str = "") -> Element:
    """Return a test case; `verdict` is failure, error, or "" if it passed."""
    case = Element("testcase", classname=f"umi-sim.{kind}", name=plain(name))
    if verdict:
        element = Element(verdict, message=plain(message))
        element.text = plain(text)
        case.append(element)
    return case


def scenarios(outcome: SweepOutcome) -> Iterator[Element]:
    totals = outcome.totals
    for name in outcome.swept.names:
        mine = [found for found in totals.in_order() if found.scenario == name]
        what = f"{plural(len(mine), 'failure')} first seen here"
        text = "\n".join(f"{found.rule}: {found.message}" for found in mine)
        yield case_of("scenario", name, *(("failure", what, text) if mine else ()))


def fingerprints(outcome: SweepOutcome) -> Iterator[Element]:
    totals = outcome.totals
    for found in totals.in_order()[:FOUND_COUNT_MAX]:
        text = text_of(found_lines(found, totals.hits[found.fingerprint]))
        name = f"{found.rule.partition(' ')[0]}-{found.fingerprint}"
        yield case_of("fingerprint", name, "failure", f"{found.named}: {found.message}", text)


def earlier(outcome: SweepOutcome) -> Iterator[Element]:
    """Yield a test case for each file of an earlier failure that still fails."""
    for each in outcome.still_failing:
        repeat = f"umi-sim replay {each.path.as_posix()}"
        yield case_of("earlier", each.path.stem, "failure", "an earlier failure is still there", repeat)


def harness(outcome: SweepOutcome) -> Element:
    """Return the test case `harness`, an error if missed demands, divergent or lost runs make it doubtful."""
    totals = outcome.totals
    missed = [missed_line(each) for each in outcome.missed]
    apart = (line for key in sorted(totals.apart) for line in apart_lines(totals.apart[key]))
    doubts = [*totals.doubts(), *([f"{len(missed)} missed"] if missed else [])]
    if not doubts:
        return case_of("harness", "harness")
    return case_of("harness", "harness", "error", ", ".join(doubts), text_of((*missed, *apart)))


def text_of(lines: Iterable[Line]) -> str:
    return "\n".join(laid_out(Report("", lines)))


def plain(text: str) -> str:
    return NO_XML.sub(lambda found: escape_text(found[0]), text)
