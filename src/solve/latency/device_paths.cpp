#include "solve/latency/device_paths.h"

#include <algorithm>

#include "solve/polls.h"

namespace allot {
namespace {

// From the end of an op to the start of one that reads its net.
double between(const ScheduleModel& model, std::size_t op, std::size_t reader, std::size_t net,
               std::size_t from, std::size_t to) {
  if (from != to) return model.transfer(net, from, to);
  return model.time(op, from) > 0 && model.time(reader, from) > 0 ? model.launch[from] : 0;
}

}  // namespace

std::vector<double> deviceHeads(const ScheduleModel& model, const Budget& budget) {
  const std::size_t devices = model.devices;
  std::vector<double> head(model.opCount() * devices, 0);
  std::vector<LeastTwo> ends(model.opCount());  // of the ops so far, by device
  std::vector<double> way(devices);             // of one net, by the device it comes from
  Polls polls(budget);
  for (std::size_t op = 0; op < model.opCount(); ++op) {
    for (const std::uint32_t net : model.inputs[op]) {
      const std::size_t producer = model.net_producer[net];
      const double single = model.singleTransfer(net);
      if (polls.stop(single >= 0 ? devices : devices * devices)) return head;
      for (std::size_t from = 0; from < devices; ++from)
        way[from] = head[producer * devices + from] + model.time(producer, from);
      for (std::size_t to = 0; to < devices; ++to) {
        if (!model.runs(op, to)) continue;
        double earliest = way[to] + between(model, producer, op, net, to, to);
        if (single >= 0) {
          earliest = std::min(earliest, ends[producer].without(to) + single);
        } else {
          for (std::size_t from = 0; from < devices; ++from)
            earliest = std::min(earliest, way[from] + between(model, producer, op, net, from, to));
        }
        double& latest = head[op * devices + to];
        latest = std::max(latest, earliest);
      }
    }
    for (std::size_t d = 0; d < devices; ++d) ends[op].add(d, head[op * devices + d] + model.time(op, d));
  }
  return head;
}

std::vector<double> deviceTails(const ScheduleModel& model, const Budget& budget) {
  const std::size_t devices = model.devices;
  std::vector<double> tail(model.opCount() * devices, 0);
  std::vector<LeastTwo> ways(model.opCount());  // from the start of the ops so far to the end, by device
  Polls polls(budget);
  for (std::size_t op = model.opCount(); op-- > 0;) {
    for (const std::uint32_t net : model.outputs[op]) {
      const double single = model.singleTransfer(net);
      for (const std::uint32_t reader : model.net_consumers[net]) {
        if (polls.stop(single >= 0 ? devices : devices * devices)) return tail;
        for (std::size_t from = 0; from < devices; ++from) {
          if (!model.runs(op, from)) continue;
          const auto way = [&](std::size_t to) {
            return between(model, op, reader, net, from, to) + model.time(reader, to) +
                   tail[reader * devices + to];
          };
          double shortest = way(from);
          if (single >= 0) {
            shortest = std::min(shortest, single + ways[reader].without(from));
          } else {
            for (std::size_t to = 0; to < devices; ++to) shortest = std::min(shortest, way(to));
          }
          double& longest = tail[op * devices + from];
          longest = std::max(longest, shortest);
        }
      }
    }
    for (std::size_t d = 0; d < devices; ++d) ways[op].add(d, model.time(op, d) + tail[op * devices + d]);
  }
  return tail;
}

}  // namespace allot
