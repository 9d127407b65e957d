"""Items of TRIPOD+AI for the evaluation of a prediction model, in our words, with what only the author can tell."""

from __future__ import annotations

from dataclasses import dataclass

AUTHOR, PARTLY, ANSWERED = "to be filled in", "in part; the rest to be filled in", "from the file"
"""Origins of an answer."""


@dataclass(frozen=True)
class Item:
    """Item of the checklist: its number, its topic, and a ``blank`` for the author (empty if nothing is left)."""

    number: str
    topic: str
    blank: str


TITLES = {
    "abstract": "Title and abstract",
    "introduction": "Introduction",
    "study-methods": "Methods",
    "open-science": "Open science and involvement",
    "results": "Results",
    "discussion": "Discussion",
}
"""Titles of the sections by their keys."""

SECTIONS: dict[str, tuple[Item, ...]] = {
    "abstract": (
        Item("1", "Title", "The name of the model, the target population, and the outcome with its time horizon."),
        Item("2", "Abstract", "Background, objectives, participants and conclusion, around the results below."),
    ),
    "introduction": (
        Item(
            "3a",
            "Context",
            "Is the model diagnostic or prognostic, in which care is it used, and why is it evaluated? Cite the paper "
            "that developed it, and other models for this outcome.",
        ),
        Item("3b", "Intended use", "The target population, the purpose in the care pathway, and the intended users."),
        Item("3c", "Inequalities", "Known inequalities in health between groups of people that matter here."),
        Item("4", "Objectives", "The existing model that is evaluated (validated), and the questions of this study."),
    ),
    "study-methods": (
        Item(
            "5a",
            "Source of the data",
            "The source (cohort, trial, registry, routine care), also of the development data, why it was chosen, and "
            "whom it represents.",
        ),
        Item("5b", "Dates", "Start and end of accrual, and the end of follow-up."),
        Item("6a", "Setting", "The kind of care, and the number and places of the centers."),
        Item("6b", "Eligibility", "Criteria of inclusion and exclusion that applied before this file was made."),
        Item("6c", "Treatments", "Treatments received, and how they were handled, if they can change the outcome."),
        Item(
            "7",
            "Preparation and quality of the data",
            "Steps before this file was created, and whether they were the same in all groups of people.",
        ),
        Item(
            "8a",
            "Outcome",
            "The definition of the outcome, why it was chosen, and its time horizon. How and when it was assessed, and "
            "whether in the same way in all groups.",
        ),
        Item(
            "8b",
            "Outcome assessors",
            "Their qualifications and demographic characteristics, if the outcome needs judgment; otherwise that it "
            "does not.",
        ),
        Item(
            "8c", "Blinding of the outcome", "What was done so that assessors did not know predictions or predictors."
        ),
        Item(
            "9b",
            "Predictors",
            "The definition of each predictor, how and when it was measured, and whether blind to the outcome.",
        ),
        Item(
            "9c",
            "Predictor assessors",
            "Their qualifications and demographic characteristics, if a predictor needs judgment.",
        ),
        Item(
            "10",
            "Sample size",
            "How the sample size was determined (a calculation before the study, or all data available), and why it "
            "is enough for the question.",
        ),
        Item(
            "11",
            "Missing data",
            "Why values are missing, how missing predictors were handled before the model was applied, and why rows "
            "without an outcome may be left out.",
        ),
        Item("12d", "Differences between clusters", "Which clusters (hospitals, countries) were compared, and why."),
        Item("12e", "Measures of performance", ""),
        Item("12f", "Updating of the model", "Whether an update was planned before the results were known."),
        Item(
            "12g",
            "How the predictions were made",
            "The formula, code, object or interface that computed the predictions, with its version.",
        ),
        Item("13", "Class imbalance", "Whether the model was developed on rows sampled by their outcome."),
        Item("14", "Fairness", "What was done about fairness, and why; or that nothing was done."),
        Item(
            "16",
            "Differences from the development",
            "Differences from the development data in setting, eligibility, outcome and predictors.",
        ),
        Item("17", "Ethical approval", "The committee that approved the study, and consent or its waiver."),
    ),
    "open-science": (
        Item("18a", "Funding", "The source of funding and the role of the funders."),
        Item("18b", "Conflicts of interest", "Conflicts of interest and financial disclosures of all authors."),
        Item("18c", "Protocol", "Where the protocol is, or that there is none."),
        Item("18d", "Registration", "The registry and number, or that the study was not registered."),
        Item("18e", "Sharing of the data", "Whether and how others can get the data."),
        Item("18f", "Sharing of the code", "Whether and how others can get all code of the analysis."),
        Item("19", "Patients and the public", "How patients and the public were involved, or that they were not."),
    ),
    "results": (
        Item("20a", "Flow of participants", "Numbers before this file was made, and a summary of the follow-up time."),
        Item("20b", "Characteristics", "Key dates, predictors and treatments that are not columns of this file."),
        Item(
            "20c",
            "Comparison with the development",
            "The distribution of the important predictors and of the outcome in the development data.",
        ),
        Item("21", "Numbers in each analysis", ""),
        Item("23a", "Performance", ""),
        Item("23b", "Differences between clusters", ""),
        Item("24", "Updated model", ""),
    ),
    "discussion": (
        Item(
            "25",
            "Interpretation",
            "What the results mean for the objectives, for fairness, and next to earlier studies.",
        ),
        Item(
            "26", "Limitations", "Limitations of the study that the file cannot show, and their effect on the results."
        ),
        Item("27c", "Next steps", "Next steps of research, with a view to where the model can be used."),
    ),
}
"""Items for an evaluation by section; 9a, 12a to 12c, 15, 22, 27a and 27b are about development only."""
