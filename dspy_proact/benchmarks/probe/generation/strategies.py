"""How items that are no evidence mislead: the paper's ten common strategies and the five templates of its appendix.

Source: arXiv 2510.19771, generation of distractors; the sentences are ours.
"""

from collections.abc import Mapping

COMMON: Mapping[str, str] = {
    "proposal dismissed": "A remedy is proposed and turned down for a reason that stands.",
    "outdated": "A problem that held work up is shown as over by what the item itself states.",
    "awaiting approval": "Something waits for a decision that is due, in time and on its way.",
    "unaddressable": "A real nuisance that neither the person nor their assistant can do anything about.",
    "resolved": "A problem is mentioned together with what somebody has already done to end it.",
    "false similarity": "The words of a bottleneck, about another matter that is in order.",
    "delegated": "A matter that somebody else has taken over and answers for.",
    "contingency": "A plan for something that has not happened.",
    "historical": "What once went wrong, told as a lesson.",
    "scope mismatch": "A matter of another team, site or person that looks like one's own.",
}
TEMPLATES: Mapping[str, str] = {
    "counterfactual": "The template about another object, with the decisive circumstance turned around: all goes on.",
    "entity swap": "The template about another person, thing or place, where all is well.",
    "time scope": "Such a matter as the template's, of an earlier occasion, which has ended.",
    "template clone": "The form and the tone of the template, about something else.",
    "generic counterfactual": "A text of that kind about another object, with which such a bottleneck cannot occur.",
}
"""Strategies that take the form of an item of the evidence."""
OFFICE = "office life"
NOISE = "What people write in an office about nothing that matters here; it may sound urgent."
STRATEGIES: Mapping[str, str] = {**COMMON, **TEMPLATES, OFFICE: NOISE}
"""All of them, by name; each corpus takes turns through them."""
