"""Every formula of the library, typeset as the dashboard does."""

import streamlit as st

import calib_core as cc
from calib_core._base.diagram import Diagram

FAMILIES = (cc.ESTIMATORS, cc.REDUCTIONS)
FORMULAS = [family[key].formula for family in FAMILIES for key in family]
FORMULAS += [kind.formula for kind in Diagram.__subclasses__() if kind.formula]

for formula in FORMULAS:
    st.latex(formula)
st.caption(f"{len(FORMULAS)} formulas")
