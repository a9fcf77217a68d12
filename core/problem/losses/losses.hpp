// All losses there are.
#pragma once

#include <variant>

#include "problem/losses/huber.hpp"
#include "problem/losses/logistic.hpp"
#include "problem/losses/poisson.hpp"
#include "problem/losses/squared.hpp"
#include "problem/losses/squared_hinge.hpp"

namespace shotgun {

template <Loss... L>
using AnyLossOf = std::variant<L...>;
using AnyLoss = AnyLossOf<Squared, Logistic, SquaredHinge, Huber, Poisson>;

}  // namespace shotgun
