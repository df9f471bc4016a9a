// The work arrays of an alternation: one row for each sample that has not converged.
#pragma once

#include "support/array.hpp"
#include "support/buffer.hpp"
#include "support/simd.hpp"

namespace thalweg {
namespace {

template <class T>
class ActiveRows {
   public:
    ActiveRows(Index n, Index F, Index K)
        : order_(n),
          settled_(n),
          weight_(n),
          half_square_(n),
          outlier_cost_(n),
          residual_(n, F),
          h_(n, K),
          old_h_(n, K),
          image_(n, K),
          passive_(n, K),
          order(order_),
          settled(settled_),
          weight(weight_),
          half_square(half_square_),
          outlier_cost(outlier_cost_),
          residual(residual_),
          h(h_),
          old_h(old_h_),
          image(image_),
          passive(passive_) {}

    /// Move a row, all but its residual, to a place before it.
    void move(Index from, Index to) const {
        order[to] = order[from];
        settled[to] = settled[from];
        weight[to] = weight[from];
        half_square[to] = half_square[from];
        outlier_cost[to] = outlier_cost[from];
        copy(h[from], h[to]);
        copy(image[from], image[to]);
        copy(passive[from], passive[to]);
    }
    void swap_codes() {
        const Matrix<double> other = h;
        h = old_h;
        old_h = other;
    }

   private:
    Buffer<Index> order_;
    Buffer<bool> settled_;
    Buffer<T> weight_;
    Buffer<double> half_square_, outlier_cost_;
    Buffer<T> residual_;
    Buffer<double> h_, old_h_, image_;
    Buffer<bool> passive_;

   public:
    Vector<Index> order;          // its place among all rows
    Vector<bool> settled;         // whether only its last outliers are missing
    Vector<T> weight;             // of the outliers
    Vector<double> half_square;   // |v - W'h - r|^2/2
    Vector<double> outlier_cost;  // weight |r|_1
    Matrix<T> residual;           // W'h, then v - W'h - r
    Matrix<double> h;
    Matrix<double> old_h;
    Matrix<double> image;  // G h
    Matrix<bool> passive;  // the support of h
};

}  // namespace
}  // namespace thalweg
