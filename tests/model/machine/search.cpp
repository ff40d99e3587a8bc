// SPDX-License-Identifier: Apache-2.0
#include "model/machine/search.hpp"

#include <memory>
#include <stdexcept>

namespace carillon::test {
namespace {

template <unsigned threads>
class Searched : public rl::test_suite<Searched<threads>, threads> {
   public:
    static inline SearchedModel searched{};

    ~Searched() { model_->~AnyModel(); }

    void before() { model_->before(); }
    void thread(unsigned index) { model_->thread(index); }
    void after() { model_->after(); }
    void invariant() { model_->invariant(); }

   private:
    // Relacy replaces `new` by an allocator that watches what a model allocates, so the model
    // itself lies in memory of malloc().
    std::unique_ptr<void, void (*)(void*)> memory_{std::malloc(searched.bytes), std::free};
    AnyModel* model_ = searched.make(memory_.get());
};

template <unsigned threads>
void simulate(SearchedModel const& model, rl::test_params& params) {
    Searched<threads>::searched = model;
    rl::simulate<Searched<threads>>(params);
}

}  // namespace

std::string outcome_of_search(SearchedModel const& model, Search const& search,
                              std::ostream& report) {
    std::ostream silent(nullptr);
    rl::test_params params;
    params.search_type = search.scheduler;
    params.iteration_count = search.iterations;
    params.context_bound = search.switches;
    params.execution_depth_limit = model.depth_limit;
    params.output_stream = &report;
    params.progress_stream = &silent;
    report << model.name << '\n';
    switch (model.threads) {
        case 2:
            simulate<2>(model, params);
            break;
        case 3:
            simulate<3>(model, params);
            break;
        default:
            throw std::invalid_argument("a model has two threads or three");
    }
    return rl::test_result_str(params.test_result);
}

}  // namespace carillon::test
