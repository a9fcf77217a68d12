// A fit at x = 0, in parts, as the loop puts them together.
#pragma once

#include "loop/certificate.hpp"
#include "loop/pack.hpp"
#include "support.hpp"

namespace testing {

using Cols = DenseColumns<double>;

struct Fit {
  explicit Fit(const Example& example)
      : e(example),
        A(e.A.dense.data(), e.A.n, e.A.d, e.A.n),
        watch(nullptr, infinity),
        samples{e.samples(), Squared{}},
        u(gradient()),
        features(A, samples, e.penalty(), false, false, u, dots, 1, watch),
        scan(A, features, samples, dots, u, 1, watch),
        point(A, samples, features, 1, watch),
        active(features, scan, point, true, 1, watch),
        certificate(features, scan, point, active, 1),
        pack(A, point, false) {
    point.refresh();
  }

  Doubles gradient() const {
    Doubles g(e.y);
    for (double& v : g) v = -v;
    return g;
  }
  void move(Column k, double x) {
    point.set_all([&](Column j) { return j == k ? x : point.x(j); });
    point.refresh();
  }
  // The gap where the point is now.
  double certify() {
    scan.move_to(point.dual_candidate());
    std::vector<Column> all(at(e.A.d));
    std::iota(all.begin(), all.end(), 0);
    scan.refresh(all);
    std::vector<Voice> voices;
    for (Column j : all) voices.push_back({j, scan.c(j)});
    certificate.certify(voices);
    return certificate.gap();
  }

  Example e;
  DenseSource<double> A;
  Watch watch;
  Observed<Squared> samples;
  Doubles u;
  PerColumn<double> dots;
  Features<Cols> features;
  Scan<Cols> scan;
  Point<Cols, Squared> point;
  Active<Cols, Squared> active;
  Certificate<Cols, Squared> certificate;
  Pack<Cols, Squared> pack;
};

}  // namespace testing
