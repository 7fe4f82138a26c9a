#include "solve/latency/exact_window.h"

#include <algorithm>

namespace allot {

ExactWindow windowOf(const ScheduleModel& model, const std::vector<std::uint32_t>& ops) {
  ExactWindow window;
  const std::size_t devices = window.devices = model.devices;
  window.link_mode = model.link_mode;
  std::vector<std::uint32_t> place(model.opCount(), ExactWindow::kToDo);
  std::vector<std::uint32_t> unit_of(model.unitCount(), ExactWindow::kToDo);
  std::uint32_t units = 0;
  for (const std::uint32_t op : ops) {
    place[op] = static_cast<std::uint32_t>(window.source_op.size());
    window.source_op.push_back(op);
    for (std::size_t d = 0; d < devices; ++d) window.seconds.push_back(model.time(op, d));
    std::uint32_t& unit = unit_of[model.unit[op]];
    if (unit == ExactWindow::kToDo) unit = units++;
    window.unit.push_back(unit);
  }
  window.tail.assign(ops.size() * devices, 0);
  window.done_on.assign(ops.size(), ExactWindow::kToDo);
  window.done_at.assign(ops.size(), 0);
  for (const std::uint32_t op : ops) {
    for (const std::uint32_t net : model.outputs[op]) {
      ExactWindow::Net inside{place[op], {}, {}, {}};
      for (const std::uint32_t consumer : model.net_consumers[net]) {
        if (place[consumer] != ExactWindow::kToDo) inside.consumers.push_back(place[consumer]);
      }
      if (inside.consumers.empty()) continue;
      std::sort(inside.consumers.begin(), inside.consumers.end());
      inside.consumers.erase(std::unique(inside.consumers.begin(), inside.consumers.end()),
                             inside.consumers.end());
      for (std::size_t from = 0; from < devices; ++from) {
        for (std::size_t to = 0; to < devices; ++to) inside.seconds.push_back(model.transfer(net, from, to));
      }
      window.nets.push_back(std::move(inside));
      window.source_net.push_back(net);
    }
  }
  window.launch = model.launch;
  window.device_free.assign(devices, 0);
  window.send_free.assign(devices, 0);
  window.receive_free.assign(devices, 0);
  return window;
}

}  // namespace allot
