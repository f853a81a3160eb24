"""English word lists for the splitting rules: abbreviations, affixes, sentence openers and others.

In lower case where the rules ignore case. Contains no rules.
"""

from __future__ import annotations


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


TITLES = _words("""
    adm assoc asst atty capt cmdr col cpl det dr fr gen gov hon insp lt maj messrs mgr mlle mme mr mrs ms mx pres prof
    rep rev revd sen sgt sr sra st ste supt
""")
"""Titles before names; when capitalised, a full stop after them never ends a sentence."""

INNER = _words("approx ca cf e.g eg esp i.e ie incl resp viz vs")
"""Abbreviations that never end a sentence."""

REFERENCES = _words("""
    app art c ch chap div ed eds eq eqs ex fig figs no nos nr op p para pg pp ref refs sec sect tab ver vol vols
""")
"""Abbreviations if a number follows; otherwise mostly ordinary words."""

ENDINGS = _words("""
    al assn bros co corp dept esq est etc govt inc intl jr llc ltd plc univ
    jan feb apr jun jul aug sept oct nov dec mon tue tues wed thu thur thurs
    ave blvd ft hwy mt rd
    ala ariz ark calif colo conn del fla ga ill ind kan ky md mich minn mo mont neb nev okla ore pa penn tenn tex va
    vt wash wis wyo
    hr hrs lb lbs min mins oz qt sec secs tbsp tsp yr yrs
    b.sc d.phil ed.d m.sc ph.d ph.ds
""")
"""Abbreviations that may end a sentence, depending on what follows."""

ALWAYS_ABBREVIATED = _words("""
    Capt Cmdr Col Cpl DR Dr Esq Gen Gov Jr Lt MR MRS Messrs Mlle Mme Mr Mrs Ms Mx Prof Rep Rev Revd Sen Sgt Sr St
    Assoc Bros Corp Dept Inc Ltd Univ Ave Blvd Calif Conn Fla Mass
    Aug Dec Feb Jan Nov Oct Sept Thurs Tues Wed
    al approx cf etc e.g i.e viz vs B.Sc D.Phil Ed.D M.Sc Ph.D Ph.Ds
""")
"""Abbreviations that, spelled exactly like this, always keep their full stop."""

OPENINGS = _words("""
    a according after all also although an and another are as at because before both but by can could did do does
    during each every finally for from furthermore had has have he her here his how however i if in instead is it its
    later let many may meanwhile might more moreover most must my next no not now of on once one or other our she
    should since so some such that the their then there therefore these they this those though thus to today until was
    we were what when where which while who whose why will with would yes yet you your
""")
"""Words that are rarely capitalised except at the start of a sentence."""

RESTARTS = OPENINGS - {"i"} | _words("first hey like oh ok okay see wait well yeah")
"""Words that, when capitalised after a dash, start a new sentence in place of the one broken off."""

SPEECH = _words("""
    add added adds answer answered answers ask asked asks began call called continued cried cries demanded ejaculated
    enquired exclaimed howled inquired insisted interrupted laughed murmured muttered observed remarked repeated
    replied replies responded returned said say says screamed shouted sighed snapped started thought told whispered
    wondered yelled
""")
"""Verbs that, after a closing quotation mark, show that the sentence continues."""

CONNECTING = _words("""
    a about against an and are as at be because been between but by can could during for from had has have
    her being his if in into is its may might must my nor not of on onto or our over shall should so than that the
    their these this those through to under upon was were when where which while who whom whose will with
    within without would
""")
"""Words after which a line of some length is incomplete."""

CAPTIONS = _words("Chart Diagram Exhibit Fig. Figure Table")

PREFIXES = _words("""
    ante anti co counter cross de e ex hyper inter intra macro mega meta micro mid mini multi non post pre pro proto
    pseudo re semi socio sub super trans ultra un hm mm oh uh
""")
SUFFIXES = _words("e eee esque ho hoo huh ish ness oh wise")
"""Affixes that aren't split off at a hyphen, as in GUM."""

FUSED = {"cannot": 3, "gimme": 3, "gonna": 3, "gotta": 3, "lemme": 3, "lotta": 3, "wanna": 3}
"""Two words written as one, with the offset of the second."""

UNITS = _words("am cm ft gb ghz hrs hz kb kg khz km kph lbs mb mg mhz ml mm mph pm tb")
"""Units that are split from the number they are attached to."""
