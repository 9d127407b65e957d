# Values of R for the measures of a risk. Run in this folder: Rscript reference.R
# Versions at the time: R 4.2.2, rms 6.5-0. Reads cases.csv (case, s, y), writes values.csv and curves.csv.
suppressPackageStartupMessages(library(rms))
options(digits = 17)
cases <- read.csv("cases.csv")
values <- NULL; curves <- NULL
for (case in unique(cases$case)) {
  d <- cases[cases$case == case, ]; p <- d$s; y <- d$y
  add <- function(measure, value) values <<- rbind(values, data.frame(case = case, measure = measure, value = unname(value)))
  x <- qlogis(p)
  add("auroc", somers2(p, y)["C"])  # val.prob rounds its C: lrm.fit bins predictions
  control <- glm.control(epsilon = 1e-14, maxit = 100)
  add("intercept", coef(glm(y ~ offset(x), family = binomial, control = control)))
  add("slope", coef(glm(y ~ x, family = binomial, control = control))[2])
  v <- suppressWarnings(val.prob(p, y, pl = FALSE))
  for (name in c("C (ROC)", "Brier", "Slope", "Eavg", "E90", "Emax")) add(paste("val.prob", name), v[name])
  # Austin & Steyerberg 2019: loess of the outcomes on the predicted risks
  fit <- loess(y ~ p); r <- predict(fit, newdata = p); e <- abs(r - p)
  add("loess ici", mean(e)); add("loess e50", median(e)); add("loess e90", quantile(e, .9)); add("loess emax", max(e))
  k <- quantile(x, c(.05, .35, .65, .95))
  spline <- glm(y ~ rcs(x, k), family = binomial, control = control)
  e <- abs(fitted(spline) - p)
  add("spline ici", mean(e)); add("spline e50", median(e)); add("spline e90", quantile(e, .9)); add("spline emax", max(e))
  at <- seq(min(p), max(p), length.out = 25)
  low <- approx(lowess(p, y, iter = 0), xout = at, ties = mean)$y
  curves <- rbind(curves, data.frame(case = case, s = at, loess = predict(fit, newdata = at), lowess = low))
}
write.csv(values, "values.csv", row.names = FALSE)
write.csv(curves, "curves.csv", row.names = FALSE)
