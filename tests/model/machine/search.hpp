// SPDX-License-Identifier: Apache-2.0
// How Relacy goes through the executions of a model.
#pragma once

#include <cstdlib>
#include <iostream>
#include <new>
#include <string>
#include <typeinfo>

#include "model/machine/relacy.hpp"

namespace carillon::test {

struct Search {
    rl::scheduler_type_e scheduler;
    rl::iteration_t iterations = 0;  // of a random search
    unsigned switches = 0;           // of a bounded one: how often a thread is taken off
};

// Every interleaving, with every load returning the latest value or, where the order allows, the
// one before.
inline constexpr Search every_execution{rl::sched_full};

// Executions with at most so many switches away from a thread that could have gone on.
[[nodiscard]] constexpr Search switching_at_most(unsigned switches) {
    return {rl::sched_bound, 0, switches};
}

// Loads may return any of the last three values. Every run has the same executions.
// CARILLON_MODEL_ITERATIONS makes for longer runs.
[[nodiscard]] inline Search random_executions(rl::iteration_t count) {
    char const* const asked = std::getenv("CARILLON_MODEL_ITERATIONS");
    return {rl::sched_random, asked == nullptr ? count : std::stoull(asked)};
}

// A model of any type. Relacy's machine is a template over what it searches. With this class it is
// compiled once for each number of threads; over the models it was most of what the tests compiled.
class AnyModel {
   public:
    AnyModel() = default;
    AnyModel(AnyModel const&) = delete;
    AnyModel& operator=(AnyModel const&) = delete;
    virtual ~AnyModel() = default;
    virtual void before() = 0;
    virtual void thread(unsigned index) = 0;
    virtual void after() = 0;
    virtual void invariant() = 0;
};
template <class Model>
class SomeModel final : public AnyModel {
   public:
    static AnyModel* make(void* at) { return new (at) SomeModel; }
    void before() override { model_.before(); }
    void thread(unsigned index) override { model_.thread(index); }
    void after() override { model_.after(); }
    void invariant() override { model_.invariant(); }

   private:
    Model model_;
};

struct SearchedModel {
    char const* name;
    AnyModel* (*make)(void* at);  // the search calls it for each execution
    std::size_t bytes;            // that a model takes
    unsigned threads;
    unsigned depth_limit;
};
// Relacy's result: "SUCCESS", "DATA RACE" and so on. The report begins with the model's name.
std::string outcome_of_search(SearchedModel const& model, Search const& search,
                              std::ostream& report);

template <class Model>
std::string outcome(Search const& search, std::ostream& report) {
    return outcome_of_search(
        {typeid(Model).name(), SomeModel<Model>::make, sizeof(SomeModel<Model>),
         Model::params::thread_count, Model::depth_limit},
        search, report);
}

// Prints the number of executions, or the one that failed, on standard output.
template <class Model>
std::string outcome(Search const& search) {
    return outcome<Model>(search, std::cout);
}

// For models that must fail.
template <class Model>
std::string quiet_outcome(Search const& search) {
    std::ostream silent(nullptr);
    return outcome<Model>(search, silent);
}

}  // namespace carillon::test
