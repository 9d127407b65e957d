"""Predictions that R's caret saves of rows drawn here. Run: python -m tests.foreign_tools.writes_caret FOLDER.

R prints their content with 17 digits, directly from the fitted object. Debian's packages r-base-core, r-cran-caret and
r-cran-e1071 are enough.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from tests.foreign_tools.written import Written, drawn

LEVELS = ("low", "mid", "high")
R = """
suppressMessages(library(caret))
set.seed(7)
rows <- read.csv("rows.csv", stringsAsFactors = TRUE)
rows$y <- factor(rows$y, levels = c("low", "mid", "high"))
fitted <- function(method, ks) train(y ~ a + b, rows, "knn", tuneGrid = data.frame(k = ks),
  trControl = trainControl(method, number = 3, repeats = if (method == "repeatedcv") 2 else NA,
                           classProbs = TRUE, savePredictions = "all"))$pred
once <- fitted("cv", 5)
write.csv(once, "saved.csv", row.names = FALSE)
write.csv(once, "row_names.csv")
write.csv2(once, "semicolons.csv", row.names = FALSE)
write.table(once, "table.txt")
write.table(once, "row_names.tsv", sep = "\\t")
write.table(once, "tabs.tsv", sep = "\\t", quote = FALSE, row.names = FALSE)
several <- fitted("repeatedcv", c(5, 9))
write.csv(several, "tuned.csv", row.names = FALSE)
probs <- predict(train(y ~ a + b, rows, "knn", tuneGrid = data.frame(k = 5)), rows, type = "prob")
plain <- data.frame(truth = rows$y, probs, predicted = factor(levels(rows$y)[max.col(probs, "first")]))
write.csv(plain, "two_sided.csv", row.names = FALSE)
says <- function(name, frame, label, model)
  cat(sprintf("%s|%s|%d|%.17g|%.17g|%.17g\\n", name, model, as.integer(frame[[label]]), frame$low, frame$mid,
              frame$high),
      sep = "")
says("once", once, "obs", "")
says("several", several, "obs", several$k)
says("plain", plain, "truth", "")
cat("version||", as.character(packageVersion("caret")), "\\n", sep = "")
"""


def main(folder: str) -> None:
    tool = Written(folder, "caret", "")
    x, y = drawn()
    rows = [f"{a},{b},{LEVELS[c]}" for (a, b), c in zip(x, y, strict=True)]
    tool.path("rows.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    run = subprocess.run(["Rscript", "-e", R], cwd=tool.folder, check=True, capture_output=True, text=True)
    lines = [line.split("|") for line in run.stdout.splitlines()]
    tool.version = lines[-1][-1]

    def said(name: str, model: str = "") -> dict[str, object]:
        mine = [line for line in lines if line[0] == name and line[1] == model]
        probs = np.array([[float(each) for each in line[3:]] for line in mine])
        return {"probs": probs, "labels": [int(line[2]) - 1 for line in mine], "classes": LEVELS}

    for name in ("saved.csv", "row_names.csv", "semicolons.csv", "tabs.tsv", "table.txt"):
        tool.has(name, "caret", **said("once"), kept=name in ("row_names.csv", "table.txt"))
    tool.has("row_names.tsv", asks="Row names")
    tool.has("tuned.csv", "caret", models={"k=5": said("several", "5"), "k=9": said("several", "9")}, kept=True)
    tool.has("two_sided.csv", **said("plain"))
    tool.path("rows.csv").unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
