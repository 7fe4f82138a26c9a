// The whole public interface.
#pragma once

#include "allot/check.h"
#include "allot/cluster.h"
#include "allot/evaluate.h"
#include "allot/formats.h"
#include "allot/graph.h"
#include "allot/options.h"
#include "allot/packing.h"
#include "allot/plan.h"
#include "allot/problem.h"
#include "allot/prove.h"
#include "allot/result.h"
#include "allot/solve.h"
#include "allot/table.h"
#include "allot/version.h"
