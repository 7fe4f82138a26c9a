#include "solve/helpers/cp_sat.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <thread>

#include "solve/helpers/library.h"

namespace allot {
namespace {

struct Api {
  void* (*create)();
  void (*destroy)(void*);
  void (*stop)(void*);
  void (*solve)(void* env, const void* model, int model_bytes, const void* parameters, int parameter_bytes,
                void** response, int* response_bytes);
};

Result<Api> loadApi() {
  ALLOT_TRY(const HelperLibrary library, HelperLibrary::open(kCpLibrary));
  Api api{};
  if (!library.find("SolveCpNewEnv", api.create) || !library.find("SolveCpDestroyEnv", api.destroy) ||
      !library.find("SolveCpStopSearch", api.stop) || !library.find("SolveCpInterruptible", api.solve)) {
    return fail({ErrorCode::kBadInput, kCpLibrary, "", "not the C interface that Allot knows",
                 "run scripts/install-helpers.sh"});
  }
  return api;
}

const Result<Api>& api() {
  static const Result<Api> loaded = loadApi();
  return loaded;
}

// Field numbers of the messages in cp_model.proto and sat_parameters.proto.
namespace field {
constexpr protozero::pbf_tag_type kModelVariables = 2, kModelConstraints = 3, kModelObjective = 4,
                                  kModelHint = 6;
constexpr protozero::pbf_tag_type kVariableDomain = 2;
constexpr protozero::pbf_tag_type kConstraintIf = 2, kConstraintLinear = 12, kConstraintInterval = 19,
                                  kConstraintNoOverlap = 20;
constexpr protozero::pbf_tag_type kIntervalStart = 4, kIntervalEnd = 5, kIntervalSize = 6;
constexpr protozero::pbf_tag_type kExpressionVars = 1, kExpressionCoeffs = 2, kExpressionOffset = 3;
constexpr protozero::pbf_tag_type kNoOverlapIntervals = 1;
constexpr protozero::pbf_tag_type kLinearVars = 1, kLinearCoeffs = 2, kLinearDomain = 3;
constexpr protozero::pbf_tag_type kObjectiveVars = 1, kObjectiveCoeffs = 4;
constexpr protozero::pbf_tag_type kHintVars = 1, kHintValues = 2;
constexpr protozero::pbf_tag_type kRandomSeed = 31, kMaxMemoryMb = 40, kCatchSigint = 135, kRelativeGap = 160,
                                  kInclusionWork = 201, kNumWorkers = 206;
constexpr protozero::pbf_tag_type kStatus = 1, kSolution = 2, kBestBound = 4, kInnerBound = 29;
}  // namespace field

enum class WireStatus : std::int32_t { kUnknown, kModelInvalid, kFeasible, kInfeasible, kOptimal };

// variable + offset, or the offset alone where the variable is -1.
void writeExpression(protozero::pbf_writer& parent, protozero::pbf_tag_type tag, std::int32_t variable,
                     std::int64_t offset) {
  protozero::pbf_writer expression(parent, tag);
  if (variable >= 0) {
    const std::int32_t variables[] = {variable};
    const std::int64_t coefficients[] = {1};
    expression.add_packed_int32(field::kExpressionVars, std::begin(variables), std::end(variables));
    expression.add_packed_int64(field::kExpressionCoeffs, std::begin(coefficients), std::end(coefficients));
  }
  expression.add_int64(field::kExpressionOffset, offset);
}

void writeSwitch(protozero::pbf_writer& constraint, std::int32_t literal) {
  if (literal < 0) return;
  const std::int32_t literals[] = {literal};
  constraint.add_packed_int32(field::kConstraintIf, std::begin(literals), std::end(literals));
}

// Intervals are constraints too, and named by their number among all.
void writeIntervals(const CpModel& model, protozero::pbf_writer& writer) {
  for (const CpInterval& interval : model.intervals) {
    protozero::pbf_writer constraint(writer, field::kModelConstraints);
    writeSwitch(constraint, interval.literal);
    protozero::pbf_writer message(constraint, field::kConstraintInterval);
    writeExpression(message, field::kIntervalStart, interval.start, 0);
    writeExpression(message, field::kIntervalEnd, interval.start, interval.size);
    writeExpression(message, field::kIntervalSize, -1, interval.size);
  }
  std::vector<std::int32_t> numbers;
  for (const std::vector<std::int32_t>& set : model.disjoint) {
    numbers.clear();
    for (const std::int32_t interval : set)
      numbers.push_back(static_cast<std::int32_t>(model.row_lower.size()) + interval);
    protozero::pbf_writer constraint(writer, field::kModelConstraints);
    protozero::pbf_writer message(constraint, field::kConstraintNoOverlap);
    message.add_packed_int32(field::kNoOverlapIntervals, numbers.begin(), numbers.end());
  }
}

std::string writeModel(const CpModel& model, const CpRun& run) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (std::size_t v = 0; v < model.lower.size(); ++v) {
    const std::int64_t domain[] = {model.lower[v], model.upper[v]};
    protozero::pbf_writer variable(writer, field::kModelVariables);
    variable.add_packed_int64(field::kVariableDomain, std::begin(domain), std::end(domain));
  }
  for (std::size_t r = 0; r < model.row_lower.size(); ++r) {
    const std::int64_t domain[] = {model.row_lower[r], model.row_upper[r]};
    const auto begin = static_cast<std::ptrdiff_t>(model.row_begin[r]);
    const auto end = static_cast<std::ptrdiff_t>(model.row_begin[r + 1]);
    protozero::pbf_writer constraint(writer, field::kModelConstraints);
    if (!model.row_if.empty()) writeSwitch(constraint, model.row_if[r]);
    protozero::pbf_writer linear(constraint, field::kConstraintLinear);
    linear.add_packed_int32(field::kLinearVars, model.row_variable.begin() + begin,
                            model.row_variable.begin() + end);
    linear.add_packed_int64(field::kLinearCoeffs, model.row_value.begin() + begin,
                            model.row_value.begin() + end);
    linear.add_packed_int64(field::kLinearDomain, std::begin(domain), std::end(domain));
  }
  writeIntervals(model, writer);
  std::vector<std::int32_t> variables;
  std::vector<std::int64_t> coefficients;
  for (std::size_t v = 0; v < model.objective.size(); ++v) {
    if (model.objective[v] == 0) continue;
    variables.push_back(static_cast<std::int32_t>(v));
    coefficients.push_back(model.objective[v]);
  }
  {
    protozero::pbf_writer objective(writer, field::kModelObjective);
    objective.add_packed_int32(field::kObjectiveVars, variables.begin(), variables.end());
    objective.add_packed_int64(field::kObjectiveCoeffs, coefficients.begin(), coefficients.end());
  }
  if (!run.start.empty()) {
    variables.resize(run.start.size());
    for (std::size_t v = 0; v < variables.size(); ++v) variables[v] = static_cast<std::int32_t>(v);
    protozero::pbf_writer hint(writer, field::kModelHint);
    hint.add_packed_int32(field::kHintVars, variables.begin(), variables.end());
    hint.add_packed_int64(field::kHintValues, run.start.begin(), run.start.end());
  }
  return bytes;
}

std::string writeParameters(const CpRun& run) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int32(field::kRandomSeed, static_cast<std::int32_t>(run.seed & 0x7fffffff));
  if (run.memory_bytes > 0)
    writer.add_int64(field::kMaxMemoryMb, static_cast<std::int64_t>(run.memory_bytes >> 20));
  writer.add_bool(field::kCatchSigint, false);
  writer.add_double(field::kRelativeGap, run.gap);
  // Release 9.15 loses solutions in this part of its presolve and then proves a wrong optimum (or-tools issue
  // 5293; random problems of the tests show it too). Without it every proof has agreed with enumeration.
  writer.add_int64(field::kInclusionWork, 0);
  writer.add_int32(field::kNumWorkers, static_cast<std::int32_t>(run.threads));
  return bytes;
}

// Reads a response; throws what protozero throws when the bytes are not one.
WireStatus readResponse(const char* bytes, std::size_t size, CpAnswer& answer) {
  WireStatus status = WireStatus::kUnknown;
  // The same bound twice, as an integer and as a double; absent on the wire means 0.
  std::int64_t bound = 0;
  double real_bound = 0;
  protozero::pbf_reader reader(bytes, size);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(field::kStatus, protozero::pbf_wire_type::varint):
        status = static_cast<WireStatus>(reader.get_enum());
        break;
      case tag_and_type(field::kSolution, protozero::pbf_wire_type::length_delimited):
        for (const std::int64_t value : reader.get_packed_int64()) answer.solution.push_back(value);
        break;
      case tag_and_type(field::kInnerBound, protozero::pbf_wire_type::varint):
        bound = reader.get_int64();
        break;
      case tag_and_type(field::kBestBound, protozero::pbf_wire_type::fixed64):
        real_bound = reader.get_double();
        break;
      default:
        reader.skip();
    }
  }
  if (status == WireStatus::kFeasible || status == WireStatus::kOptimal || status == WireStatus::kUnknown)
    answer.bound = std::min(bound, static_cast<std::int64_t>(std::llround(real_bound)));
  if (status == WireStatus::kOptimal) answer.end = CpEnd::kOptimal;
  if (status == WireStatus::kInfeasible) answer.end = CpEnd::kInfeasible;
  return status;
}

// Passes a stop on for as long as it lives: a stop asked for before the search has begun may be lost.
class Watcher {
 public:
  Watcher(const Api& solver, void* env, const std::function<bool()>& stopped)
      : thread_([this, &solver, env, &stopped] {
          std::unique_lock lock(mutex_);
          while (!wake_.wait_for(lock, std::chrono::milliseconds(10), [this] { return over_; })) {
            if (stopped && stopped()) solver.stop(env);
          }
        }) {}
  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace

Result<void> loadCpSolver() {
  ALLOT_CHECK(api());
  return {};
}

Result<CpAnswer> solveCp(const CpModel& model, const CpRun& run) {
  ALLOT_TRY(const Api solver, api());
  const std::string input = writeModel(model, run), parameters = writeParameters(run);
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<int>::max());
  const auto failed = [](const char* why) {
    return fail({ErrorCode::kInternal, kCpLibrary, "", std::string("CP-SAT ") + why, ""});
  };
  if (input.size() > kMost) return failed("cannot take a model of this size");
  const std::unique_ptr<void, void (*)(void*)> env(solver.create(), solver.destroy);
  void* response = nullptr;
  int bytes = 0;
  {
    const Watcher watcher(solver, env.get(), run.stopped);
    solver.solve(env.get(), input.data(), static_cast<int>(input.size()), parameters.data(),
                 static_cast<int>(parameters.size()), &response, &bytes);
  }
  const std::unique_ptr<void, void (*)(void*)> owner(response, std::free);
  CpAnswer answer;
  try {
    if (readResponse(static_cast<const char*>(response), static_cast<std::size_t>(bytes), answer) ==
        WireStatus::kModelInvalid)
      return failed("called the model invalid");
  } catch (const protozero::exception&) {
    return failed("gave an answer that cannot be read");
  }
  if (!answer.solution.empty() && answer.solution.size() != model.lower.size())
    return failed("gave a solution of another size");
  return answer;
}

}  // namespace allot
