// candidates: the active columns outside W that might join it.
#pragma once

#include "loop/active.hpp"
#include "loop/pack.hpp"
#include "loop/select.hpp"

namespace shotgun {

template <Columns C, Loss L>
class Candidates {
 public:
  Candidates(const Features<C>& features, const Scan<C>& scan, const Point<C, L>& point,
             const Active<C, L>& active, const Pack<C, L>& W, int threads)
      : features_(features),
        scan_(scan),
        point_(point),
        active_(active),
        W_(W),
        threads_(threads) {}

  std::vector<Candidate> everyone() const {
    std::vector<Candidate> all;
    for (Column j : active_.columns())
      if (!W_.holds(j)) all.push_back({infinity, j});
    return all;
  }
  // What the strong rule foresees need not have been looked at.
  std::vector<Candidate> foreseen(double expectation) const {
    return gather<Candidate>(
        threads_, active_.size(),
        [&, plain = features_.plain()](std::int64_t p, std::vector<Candidate>& out) {
          const auto place = static_cast<std::size_t>(p);
          const Column j = active_.columns()[place];
          if (plain && !point_.moved(j) && too_far(scan_.bound(j), *plain)) return;
          consider(j, scan_.c(j, place), expectation, out);
        });
  }
  // What the scan has looked at, as it might have violated.
  std::vector<Candidate> known() const {
    return gather<Candidate>(threads_, scan_.known_count(),
                             [&, plain = features_.plain(), c = scan_.known()](
                                 std::int64_t p, std::vector<Candidate>& out) {
                               const auto [j, gradient] = c(static_cast<std::size_t>(p));
                               if (plain && !point_.moved(j) && too_far(std::abs(gradient), *plain))
                                 return;
                               if (active_.holds(j)) consider(j, gradient, 1.0, out);
                             });
  }

 private:
  void consider(Column j, double gradient, double expectation, std::vector<Candidate>& out) const {
    if (W_.holds(j)) return;
    const double urge =
        urgency(features_.penalty(j), point_.x(j), gradient, features_.norm2(j), expectation);
    if (urge > -infinity) out.push_back({urge, j});
  }

  const Features<C>& features_;
  const Scan<C>& scan_;
  const Point<C, L>& point_;
  const Active<C, L>& active_;
  const Pack<C, L>& W_;
  int threads_;
};

}  // namespace shotgun
