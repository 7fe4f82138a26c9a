#include "solve/latency/device_paths.h"

#include <algorithm>

namespace allot {
namespace {

// From the end of an op to the start of one that reads its net.
double between(const ScheduleModel& model, std::size_t op, std::size_t reader, std::size_t net,
               std::size_t from, std::size_t to) {
  if (from != to) return model.transfer(net, from, to);
  return model.time(op, from) > 0 && model.time(reader, from) > 0 ? model.launch[from] : 0;
}

}  // namespace

std::vector<double> deviceHeads(const ScheduleModel& model) {
  const std::size_t devices = model.devices;
  std::vector<double> head(model.opCount() * devices, 0);
  for (std::size_t op = 0; op < model.opCount(); ++op) {
    for (std::size_t to = 0; to < devices; ++to) {
      if (!model.runs(op, to)) continue;
      double& latest = head[op * devices + to];
      for (const std::uint32_t net : model.inputs[op]) {
        const std::size_t producer = model.net_producer[net];
        double earliest = kCannotRun;
        for (std::size_t from = 0; from < devices; ++from) {
          if (!model.runs(producer, from)) continue;
          earliest = std::min(earliest, head[producer * devices + from] + model.time(producer, from) +
                                            between(model, producer, op, net, from, to));
        }
        latest = std::max(latest, earliest);
      }
    }
  }
  return head;
}

std::vector<double> deviceTails(const ScheduleModel& model) {
  const std::size_t devices = model.devices;
  std::vector<double> tail(model.opCount() * devices, 0);
  for (std::size_t op = model.opCount(); op-- > 0;) {
    for (std::size_t from = 0; from < devices; ++from) {
      if (!model.runs(op, from)) continue;
      double& longest = tail[op * devices + from];
      for (const std::uint32_t net : model.outputs[op]) {
        for (const std::uint32_t reader : model.net_consumers[net]) {
          double shortest = kCannotRun;
          for (std::size_t to = 0; to < devices; ++to) {
            if (!model.runs(reader, to)) continue;
            shortest = std::min(shortest, between(model, op, reader, net, from, to) + model.time(reader, to) +
                                              tail[reader * devices + to]);
          }
          longest = std::max(longest, shortest);
        }
      }
    }
  }
  return tail;
}

}  // namespace allot
