"""Cited works: short references are shown as author and year, with a full entry each."""

from __future__ import annotations

import re
from collections.abc import Iterable

WORKS = {
    "Angelopoulos and Bates (2021)": "Angelopoulos AN, Bates S. A gentle introduction to conformal prediction and "
    "distribution-free uncertainty quantification. 2021.",
    "Angelopoulos et al. (2023)": "Angelopoulos AN, Duchi JC, Zrnic T. PPI++: efficient prediction-powered inference. "
    "2023.",
    "Arrieta-Ibarra et al. (2022)": "Arrieta-Ibarra I, Gujral P, Tannen J, Tygert M, Xu C. Metrics of calibration for "
    "probabilistic predictions. Journal of Machine Learning Research 23, 2022.",
    "Austin and Steyerberg (2019)": "Austin PC, Steyerberg EW. The Integrated Calibration Index (ICI) and related "
    "metrics for quantifying the calibration of logistic regression models. Statistics in Medicine 38, 2019.",
    "Benjamini and Hochberg (1995)": "Benjamini Y, Hochberg Y. Controlling the false discovery rate: a practical and "
    "powerful approach to multiple testing. Journal of the Royal Statistical Society B 57, 1995.",
    "Berta et al. (2025)": "Berta E, Holzmüller D, Jordan MI, Bach F. Structured matrix scaling for multi-class "
    "calibration. 2025; AISTATS 2026.",
    "Berta et al. (2026)": "Berta E, Holzmüller D, Bach F, Jordan MI. CalArena: a large-scale post-hoc calibration "
    "benchmark. 2026.",
    "Binder (1983)": "Binder DA. On the variances of asymptotically normal estimators from complex surveys. "
    "International Statistical Review 51, 1983.",
    "Błasiok and Nakkiran (2023)": "Błasiok J, Nakkiran P. Smooth ECE: principled reliability diagrams via kernel "
    "smoothing. 2023; ICLR 2024.",
    "Bröcker and Smith (2007)": "Bröcker J, Smith LA. Increasing the reliability of reliability diagrams. Weather and "
    "Forecasting 22, 2007.",
    "Casella and Berger (2002)": "Casella G, Berger RL. Statistical inference, 2nd ed. Duxbury 2002.",
    "Chen (1999)": "Chen SX. Beta kernel estimators for density functions. Computational Statistics & Data "
    "Analysis 31, 1999.",
    "Clopper and Pearson (1934)": "Clopper CJ, Pearson ES. The use of confidence or fiducial limits illustrated in "
    "the case of the binomial. Biometrika 26, 1934.",
    "Collins et al. (2024)": "Collins GS, Moons KGM, Dhiman P, et al. TRIPOD+AI statement: updated guidance for "
    "reporting clinical prediction models that use regression or machine learning methods. BMJ 385, 2024.",
    "Cox (1958)": "Cox DR. Two further applications of a model for binary regression. Biometrika 45, 1958.",
    "DeLong et al. (1988)": "DeLong ER, DeLong DM, Clarke-Pearson DL. Comparing the areas under two or more correlated "
    "receiver operating characteristic curves: a nonparametric approach. Biometrics 44, 1988.",
    "Debray et al. (2017)": "Debray TPA, Damen JAAG, Snell KIE, et al. A guide to systematic review and "
    "meta-analysis of prediction model performance. BMJ 356, 2017.",
    "Demšar (2006)": "Demšar J. Statistical comparisons of classifiers over multiple data sets. Journal of Machine "
    "Learning Research 7, 2006.",
    "Dimitriadis et al. (2021)": "Dimitriadis T, Gneiting T, Jordan AI. Stable reliability diagrams for probabilistic "
    "classifiers. Proceedings of the National Academy of Sciences 118, 2021.",
    "Donoho and Johnstone (1994)": "Donoho DL, Johnstone IM. Ideal spatial adaptation by wavelet shrinkage. "
    "Biometrika 81, 1994.",
    "Dufour (2006)": "Dufour J-M. Monte Carlo tests with nuisance parameters: a general approach to finite-sample "
    "inference and nonstandard asymptotics. Journal of Econometrics 133, 2006.",
    "Elkan (2001)": "Elkan C. The foundations of cost-sensitive learning. IJCAI 2001.",
    "Fay and Feuer (1997)": "Fay MP, Feuer EJ. Confidence intervals for directly standardized rates: a method based "
    "on the gamma distribution. Statistics in Medicine 16, 1997.",
    "Firth (1993)": "Firth D. Bias reduction of maximum likelihood estimates. Biometrika 80, 1993.",
    "Friedman (2001)": "Friedman JH. Greedy function approximation: a gradient boosting machine. Annals of Statistics "
    "29, 2001.",
    "Garwood (1936)": "Garwood F. Fiducial limits for the Poisson distribution. Biometrika 28, 1936.",
    "Geifman and El-Yaniv (2017)": "Geifman Y, El-Yaniv R. Selective classification for deep neural networks. NeurIPS "
    "2017.",
    "Geifman, Uziel and El-Yaniv (2019)": "Geifman Y, Uziel G, El-Yaniv R. Bias-reduced uncertainty estimation for "
    "deep neural classifiers. ICLR 2019.",
    "Guo et al. (2017)": "Guo C, Pleiss G, Sun Y, Weinberger KQ. On calibration of modern neural networks. ICML 2017.",
    "Gupta and Ramdas (2021)": "Gupta C, Ramdas A. Distribution-free calibration guarantees for histogram binning "
    "without sample splitting. ICML 2021.",
    "Gupta and Ramdas (2022)": "Gupta C, Ramdas A. Top-label calibration and multiclass-to-binary reductions. ICLR "
    "2022.",
    "Gupta et al. (2021)": "Gupta K, Rahimi A, Ajanthan T, Mensink T, Sminchisescu C, Hartley R. Calibration of neural "
    "networks using splines. ICLR 2021.",
    "Hartline et al. (2025)": "Hartline J, Hu L, Wu Y. A perfectly truthful calibration measure. 2025; COLT "
    "2026, PMLR 336.",
    "Hartung and Knapp (2001)": "Hartung J, Knapp G. A refined method for the meta-analysis of controlled clinical "
    "trials with binary outcome. Statistics in Medicine 20, 2001.",
    "Hébert-Johnson et al. (2018)": "Hébert-Johnson Ú, Kim MP, Reingold O, Rothblum GN. Multicalibration: calibration "
    "for the (computationally-identifiable) masses. ICML 2018.",
    "Holm (1979)": "Holm S. A simple sequentially rejective multiple test procedure. Scandinavian Journal of "
    "Statistics 6, 1979.",
    "Kent (1964)": "Kent S. Words of estimative probability. Studies in Intelligence 8(4), 1964.",
    "Kish (1965)": "Kish L. Survey sampling. Wiley 1965.",
    "Korn and Graubard (1998)": "Korn EL, Graubard BI. Confidence intervals for proportions with small expected "
    "number of positive counts estimated from survey data. Survey Methodology 24, 1998.",
    "Kull et al. (2017)": "Kull M, Silva Filho T, Flach P. Beta calibration: a well-founded and easily implemented "
    "improvement on logistic calibration for binary classifiers. AISTATS 2017.",
    "Kull et al. (2019)": "Kull M, Perello Nieto M, Kängsepp M, Silva Filho T, Song H, Flach P. Beyond temperature "
    "scaling: obtaining well-calibrated multiclass probabilities with Dirichlet calibration. NeurIPS 2019.",
    "Kumar, Liang and Ma (2019)": "Kumar A, Liang P, Ma T. Verified uncertainty calibration. NeurIPS 2019.",
    "Lipton et al. (2018)": "Lipton ZC, Wang Y-X, Smola A. Detecting and correcting for label shift with black box "
    "predictors. ICML 2018.",
    "Lucena (2018)": "Lucena B. Spline-based probability calibration. 2018.",
    "Ma and Blaschko (2021)": "Ma X, Blaschko MB. Meta-Cal: well-controlled post-hoc calibration by ranking. ICML "
    "2021.",
    "Mastrandrea et al. (2010)": "Mastrandrea MD, Field CB, Stocker TF, Edenhofer O, Ebi KL, Frame DJ, et al. Guidance "
    "note for lead authors of the IPCC Fifth Assessment Report on consistent treatment of uncertainties. IPCC 2010.",
    "Nagashima et al. (2019)": "Nagashima K, Noma H, Furukawa TA. Prediction intervals for random-effects "
    "meta-analysis: a confidence distribution approach. Statistical Methods in Medical Research 28, 2019.",
    "Nemenyi (1963)": "Nemenyi P. Distribution-free multiple comparisons. PhD thesis, Princeton University, 1963.",
    "Oron and Flournoy (2017)": "Oron AP, Flournoy N. Centered isotonic regression: point and interval estimation for "
    "dose-response studies. Statistics in Biopharmaceutical Research 9, 2017.",
    "Platt (1999)": "Platt JC. Probabilistic outputs for support vector machines and comparisons to regularized "
    "likelihood methods. Advances in Large Margin Classifiers, MIT Press 1999.",
    "Popordanoska et al. (2022)": "Popordanoska T, Sayer R, Blaschko MB. A consistent and differentiable Lp canonical "
    "calibration error estimator. NeurIPS 2022.",
    "Popordanoska et al. (2024)": "Popordanoska T, Gruber SG, Tiulpin A, Buettner F, Blaschko MB. Consistent and "
    "asymptotically unbiased estimation of proper calibration errors. AISTATS 2024.",
    "Posocco and Bonnefoy (2021)": "Posocco N, Bonnefoy A. Estimating expected calibration errors. ICANN 2021.",
    "Rahimi et al. (2020)": "Rahimi A, Shaban A, Cheng C-A, Hartley R, Boots B. Intra order-preserving functions for "
    "calibration of multi-class neural networks. NeurIPS 2020.",
    "Ramdas et al. (2023)": "Ramdas A, Grünwald P, Vovk V, Shafer G. Game-theoretic statistics and safe anytime-valid "
    "inference. Statistical Science 38, 2023.",
    "Riley et al. (2021)": "Riley RD, Debray TPA, Collins GS, et al. Minimum sample size for external validation "
    "of a clinical prediction model with a binary outcome. Statistics in Medicine 40, 2021.",
    "Roelofs et al. (2022)": "Roelofs R, Cain N, Shlens J, Mozer MC. Mitigating bias in calibration error estimation. "
    "AISTATS 2022.",
    "Romano et al. (2020)": "Romano Y, Sesia M, Candès EJ. Classification with valid and adaptive coverage. NeurIPS "
    "2020.",
    "Rossellini et al. (2025)": "Rossellini R, Soloff JA, Barber RF, Ren Z, Willett R. Can a calibration metric be "
    "both testable and actionable? 2025.",
    "Sadinle et al. (2019)": "Sadinle M, Lei J, Wasserman L. Least ambiguous set-valued classifiers with bounded error "
    "levels. Journal of the American Statistical Association 114, 2019.",
    "Saerens et al. (2002)": "Saerens M, Latinne P, Decaestecker C. Adjusting the outputs of a classifier to new a "
    "priori probabilities: a simple procedure. Neural Computation 14, 2002.",
    "Seillier-Moiseiwitsch and Dawid (1993)": "Seillier-Moiseiwitsch F, Dawid AP. On testing the validity of "
    "sequential probability forecasts. Journal of the American Statistical Association 88, 1993.",
    "Shevtsova (2010)": "Shevtsova IG. An improvement of convergence rate estimates in the Lyapunov theorem. Doklady "
    "Mathematics 82, 2010.",
    "Silverman (1986)": "Silverman BW. Density estimation for statistics and data analysis. Chapman & Hall 1986.",
    "Spiegelhalter (1986)": "Spiegelhalter DJ. Probabilistic prediction in patient management and clinical trials. "
    "Statistics in Medicine 5, 1986.",
    "Steyerberg et al. (2010)": "Steyerberg EW, Vickers AJ, Cook NR, et al. Assessing the performance of prediction "
    "models: a framework for traditional and novel measures. Epidemiology 21, 2010.",
    "Tax et al. (2025)": "Tax N, Perini L, Linder F, et al. MCGrad: multicalibration at web scale. 2025; KDD 2026.",
    "Valk and Kull (2023)": "Valk K, Kull M. Assuming locally equal calibration errors for non-parametric multiclass "
    "calibration. Transactions on Machine Learning Research, 2023.",
    "Van Calster et al. (2016)": "Van Calster B, Nieboer D, Vergouwe Y, De Cock B, Pencina MJ, Steyerberg EW. A "
    "calibration hierarchy for risk models was defined: from utopia to empirical data. Journal of Clinical "
    "Epidemiology 74, 2016.",
    "Van Calster et al. (2019)": "Van Calster B, McLernon DJ, van Smeden M, Wynants L, Steyerberg EW. Calibration: "
    "the Achilles heel of predictive analytics. BMC Medicine 17, 2019.",
    "Van Hoorde et al. (2014)": "Van Hoorde K, Vergouwe Y, Timmerman D, Van Huffel S, Steyerberg EW, Van Calster "
    "B. Assessing calibration of multinomial risk prediction models. Statistics in Medicine 33, 2014.",
    "Vandenbroucke et al. (2007)": "Vandenbroucke JP, von Elm E, Altman DG, et al. Strengthening the reporting of "
    "observational studies in epidemiology (STROBE): explanation and elaboration. PLoS Medicine 4, 2007.",
    "Vergouwe et al. (2017)": "Vergouwe Y, Nieboer D, Oostenbrink R, et al. A closed testing procedure to select "
    "an appropriate method for updating prediction models. Statistics in Medicine 36, 2017.",
    "Vickers and Elkin (2006)": "Vickers AJ, Elkin EB. Decision curve analysis: a novel method for evaluating "
    "prediction models. Medical Decision Making 26, 2006.",
    "Viechtbauer (2005)": "Viechtbauer W. Bias and efficiency of meta-analytic variance estimators in the "
    "random-effects model. Journal of Educational and Behavioral Statistics 30, 2005.",
    "Vovk et al. (2015)": "Vovk V, Petej I, Fedorova V. Large-scale probabilistic predictors with and without "
    "guarantees of validity. NeurIPS 2015.",
    "Wenger et al. (2020)": "Wenger J, Kjellström H, Triebel R. Non-parametric calibration for classification. AISTATS "
    "2020.",
    "Widmann et al. (2019)": "Widmann D, Lindsten F, Zachariah D. Calibration tests in multi-class classification: a "
    "unifying framework. NeurIPS 2019.",
    "Wilson (1927)": "Wilson EB. Probable inference, the law of succession, and statistical inference. Journal of the "
    "American Statistical Association 22, 1927.",
    "Yao et al. (2018)": "Yao Y, Vehtari A, Simpson D, Gelman A. Using stacking to average Bayesian predictive "
    "distributions. Bayesian Analysis 13, 2018.",
    "Zadrozny and Elkan (2001)": "Zadrozny B, Elkan C. Obtaining calibrated probability estimates from decision trees "
    "and naive Bayesian classifiers. ICML 2001.",
    "Zadrozny and Elkan (2002)": "Zadrozny B, Elkan C. Transforming classifier scores into accurate multiclass "
    "probability estimates. KDD 2002.",
    "Zhang et al. (2020)": "Zhang J, Kailkhura B, Han TY-J. Mix-n-Match: ensemble and compositional methods for "
    "uncertainty calibration in deep learning. ICML 2020.",
    "Zhao et al. (2021)": "Zhao S, Kim MP, Sahoo R, Ma T, Ermon S. Calibrating predictions to decisions: a novel "
    "approach to multi-class calibration. NeurIPS 2021.",
}
"""Full entries by author and year."""

PAPERS = {
    "P1": "Gupta and Ramdas (2022)",
    "P2": "Kumar, Liang and Ma (2019)",
    "P3": "Valk and Kull (2023)",
    "P4": "Ma and Blaschko (2021)",
    "P5": "Posocco and Bonnefoy (2021)",
}
"""Citations of the code's five source papers, by their short names."""

_SHORT = re.compile(r"\b(P[1-5])\b(?: (?=[A-Z§]|eq))?")
_AUTHORS = re.compile(r"(?<=[\w.]) (?P<year>(?:19|20)\d\d)\b(?!\))")
_RANGE = re.compile(r"(?<=\d)-(?=\d)")


def cited(reference: str) -> str:
    """Return a reference for readers: authors and year, then the place in the work.

    >>> cited("P1 eq. 3-4; Guo et al. 2017"), cited("Platt 1999; P2 App. E")
    ('Gupta and Ramdas (2022), eq. 3–4; Guo et al. (2017)', 'Platt (1999); Kumar, Liang and Ma (2019), App. E')
    >>> cited(cited("P2 §3")) == cited("P2 §3")
    True
    """
    text = _SHORT.sub(lambda found: PAPERS[found[1]] + ", " * found[0].endswith(" "), reference)
    return _RANGE.sub("–", _AUTHORS.sub(r" (\g<year>)", text).replace(" & ", " and "))


def bibliography(references: Iterable[str]) -> tuple[str, ...]:
    """Return the entries of all cited works, in alphabetical order.

    >>> bibliography(["Guo et al. 2017; P3"])[1][:7]
    'Valk K,'
    """
    text = "; ".join(cited(reference) for reference in references)
    return tuple(entry for name, entry in WORKS.items() if name in text)
