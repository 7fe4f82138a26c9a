#include "solve/helpers/highs.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>

#include "solve/helpers/library.h"

namespace allot {
namespace {

// Names and numbers of the documented C interface of HiGHS with 32-bit indices.
constexpr int kMinimise = 1, kRowwise = 2;
constexpr int kStatusError = -1;
constexpr int kModelEmpty = 6, kModelOptimal = 7, kModelInfeasible = 8;
constexpr int kOnSimplexInterrupt = 1, kOnIpmInterrupt = 2, kOnImprovingSolution = 4, kOnMipLogging = 5,
              kOnMipInterrupt = 6;

struct CallbackIn {
  int interrupt;
  // More fields follow; none is needed.
};

using Callback = void(int type, const char* message, const void* out, CallbackIn* in, void* data);

struct Api {
  void* (*create)();
  void (*destroy)(void*);
  int (*set_bool)(void*, const char*, int);
  int (*set_int)(void*, const char*, int);
  int (*set_double)(void*, const char*, double);
  int (*pass_mip)(void*, int columns, int rows, int entries, int format, int sense, double offset,
                  const double* cost, const double* lower, const double* upper, const double* row_lower,
                  const double* row_upper, const int* begin, const int* index, const double* value,
                  const int* integrality);
  int (*set_solution)(void*, const double* columns, const double* rows, const double* column_duals,
                      const double* row_duals);
  int (*set_callback)(void*, Callback*, void*);
  int (*start_callback)(void*, int);
  const void* (*callback_item)(const void* out, const char* name);
  int (*run)(void*);
  int (*model_status)(const void*);
  int (*get_double)(const void*, const char*, double*);
  int (*get_int)(const void*, const char*, int*);
  int (*get_solution)(const void*, double*, double*, double*, double*);
  void (*reset_scheduler)(int);
};

Result<Api> loadApi() {
  ALLOT_TRY(const HelperLibrary library, HelperLibrary::open(kMilpLibrary));
  Api api{};
  const bool complete =
      library.find("Highs_create", api.create) && library.find("Highs_destroy", api.destroy) &&
      library.find("Highs_setBoolOptionValue", api.set_bool) &&
      library.find("Highs_setIntOptionValue", api.set_int) &&
      library.find("Highs_setDoubleOptionValue", api.set_double) &&
      library.find("Highs_passMip", api.pass_mip) && library.find("Highs_setSolution", api.set_solution) &&
      library.find("Highs_setCallback", api.set_callback) &&
      library.find("Highs_startCallback", api.start_callback) &&
      library.find("Highs_getCallbackDataOutItem", api.callback_item) && library.find("Highs_run", api.run) &&
      library.find("Highs_getModelStatus", api.model_status) &&
      library.find("Highs_getDoubleInfoValue", api.get_double) &&
      library.find("Highs_getIntInfoValue", api.get_int) &&
      library.find("Highs_getSolution", api.get_solution) &&
      library.find("Highs_resetGlobalScheduler", api.reset_scheduler);
  int (*index_bytes)(const void*) = nullptr;
  if (!complete || !library.find("Highs_getSizeofHighsInt", index_bytes) || index_bytes(nullptr) != 4) {
    return fail({ErrorCode::kBadInput, kMilpLibrary, "", "not the C interface that Allot knows",
                 "run scripts/install-helpers.sh"});
  }
  return api;
}

const Result<Api>& api() {
  static const Result<Api> loaded = loadApi();
  return loaded;
}

struct CallState {
  const Api& api;
  const MilpRun& run;
  std::size_t columns;
  std::mutex mutex;
};

void onCallback(int type, const char*, const void* out, CallbackIn* in, void* data) {
  CallState& state = *static_cast<CallState*>(data);
  if (state.run.stopped && state.run.stopped()) in->interrupt = 1;
  const std::lock_guard lock(state.mutex);
  if (type == kOnImprovingSolution && state.run.on_solution) {
    const auto* values = static_cast<const double*>(state.api.callback_item(out, "mip_solution"));
    if (values != nullptr) state.run.on_solution({values, state.columns});
  }
  if ((type == kOnMipLogging || type == kOnMipInterrupt) && state.run.on_bound) {
    const auto* bound = static_cast<const double*>(state.api.callback_item(out, "mip_dual_bound"));
    if (bound != nullptr && std::isfinite(*bound)) state.run.on_bound(*bound);
  }
}

Error failed(const char* step) {
  return {ErrorCode::kInternal, kMilpLibrary, "", std::string("HiGHS failed to ") + step, ""};
}

}  // namespace

Result<void> loadMilpSolver() {
  ALLOT_CHECK(api());
  return {};
}

Result<MilpAnswer> solveMilp(const MilpModel& model, const MilpRun& run) {
  ALLOT_TRY(const Api highs, api());
  // One scheduler of threads serves the whole process, so searches take turns.
  static std::mutex turn;
  const std::lock_guard lock(turn);
  std::unique_ptr<void, void (*)(void*)> solver(highs.create(), highs.destroy);
  if (solver == nullptr) return fail(failed("start"));
  highs.set_bool(solver.get(), "output_flag", 0);
  highs.set_int(solver.get(), "threads", static_cast<int>(run.threads));
  highs.set_int(solver.get(), "random_seed", static_cast<int>(run.seed & 0x7fffffff));
  for (const char* tolerance :
       {"mip_feasibility_tolerance", "primal_feasibility_tolerance", "dual_feasibility_tolerance"})
    highs.set_double(solver.get(), tolerance, kMilpTolerance);
  if (std::isfinite(run.seconds)) highs.set_double(solver.get(), "time_limit", std::max(run.seconds, 0.0));
  highs.set_double(solver.get(), "mip_rel_gap", run.gap);
  highs.set_double(solver.get(), "mip_abs_gap", kMilpTolerance);
  const int columns = static_cast<int>(model.cost.size()), rows = static_cast<int>(model.row_lower.size());
  if (highs.pass_mip(solver.get(), columns, rows, static_cast<int>(model.row_value.size()), kRowwise,
                     kMinimise, 0, model.cost.data(), model.lower.data(), model.upper.data(),
                     model.row_lower.data(), model.row_upper.data(), model.row_begin.data(),
                     model.row_column.data(), model.row_value.data(), model.integer.data()) == kStatusError)
    return fail(failed("take the model"));
  if (!run.start.empty()) highs.set_solution(solver.get(), run.start.data(), nullptr, nullptr, nullptr);
  CallState state{highs, run, model.cost.size(), {}};
  highs.set_callback(solver.get(), onCallback, &state);
  for (const int type :
       {kOnSimplexInterrupt, kOnIpmInterrupt, kOnImprovingSolution, kOnMipLogging, kOnMipInterrupt})
    highs.start_callback(solver.get(), type);
  const int ran = highs.run(solver.get());
  MilpAnswer answer;
  const int status = highs.model_status(solver.get());
  if (status == kModelOptimal || status == kModelEmpty) answer.end = MilpEnd::kOptimal;
  if (status == kModelInfeasible) answer.end = MilpEnd::kInfeasible;
  double bound = 0;
  if (answer.end != MilpEnd::kInfeasible && ran != kStatusError &&
      highs.get_double(solver.get(), "mip_dual_bound", &bound) != kStatusError && std::isfinite(bound))
    answer.bound = bound;
  int feasible = 0;
  constexpr int kFeasible = 2;
  if (highs.get_int(solver.get(), "primal_solution_status", &feasible) != kStatusError &&
      feasible == kFeasible) {
    answer.solution.resize(model.cost.size());
    highs.get_solution(solver.get(), answer.solution.data(), nullptr, nullptr, nullptr);
  }
  // Its threads go only when no solver is left; the next run may want another number of them.
  solver.reset();
  highs.reset_scheduler(1);
  if (ran == kStatusError && answer.solution.empty()) return fail(failed("solve the model"));
  return answer;
}

}  // namespace allot
