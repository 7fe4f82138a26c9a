// Strong index types. An id is a position in the arrays of the structure that owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

namespace allot {

template <class Tag>
struct Id {
  using Raw = std::uint32_t;
  static constexpr Raw kInvalid = std::numeric_limits<Raw>::max();

  Raw value = kInvalid;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value(static_cast<Raw>(index)) {}

  constexpr bool valid() const { return value != kInvalid; }
  constexpr std::size_t index() const { return value; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using OpId = Id<struct OpTag>;
using TensorId = Id<struct TensorTag>;
using DeviceId = Id<struct DeviceTag>;
using ClassId = Id<struct ClassTag>;
using ModelId = Id<struct ModelTag>;
using GroupId = Id<struct GroupTag>;
using HostId = Id<struct HostTag>;
// Weights that several ops of one model read.
using BlockId = Id<struct BlockTag>;
// A tensor that a model is given from outside.
using InputId = Id<struct InputTag>;
// A unit is a largest set of ops that must share a device (groups and `together` sets joined).
using UnitId = Id<struct UnitTag>;

}  // namespace allot

template <class Tag>
struct std::hash<allot::Id<Tag>> {
  std::size_t operator()(allot::Id<Tag> id) const noexcept { return id.value; }
};
