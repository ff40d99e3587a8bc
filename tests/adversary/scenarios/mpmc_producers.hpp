// SPDX-License-Identifier: Apache-2.0
// The producers of an MPMC ring: CPU threads that may die, or threads of the device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "adversary/scenarios/mpmc_ring_scenario.hpp"
#include "carillon/detail/machine/group.hpp"

namespace carillon::test {
using namespace detail;

// CPU threads with records. The first ones may die; the others give up the claims of the dead.
template <class Far, class Near, class Scenario>
class MortalProducers {
   public:
    MortalProducers(Scenario& scenario, Line* records, Far far, Near near)
        : scenario_(scenario),
          machine_(scenario.machine()),
          records_(reinterpret_cast<ProducerRecord*>(records)),
          far_(far),
          near_(near) {}

    void produce(unsigned producer) {
        using Message = typename Scenario::Message;
        MpmcProducer<Message, Far, Near, ClaimRecord> end(scenario_.view(), far_, near_,
                                                          ClaimRecord(records_ + producer));
        bool const mortal = producer < scenario_.plan().deaths;
        if (mortal) {
            machine_.die_after(machine_.random().below(120));
        }
        scenario_.traffic().produce(producer, end, [&] {
            if (!mortal) recover();
            return true;
        });
        if (mortal) return;
        while (!scenario_.all_taken() || scenario_.state().any_dead()) recover();
        last_words(producer);
    }

   private:
    // Recovers as ProducerRegistry::recover does. A flag stands for its lock: one thread recovers
    // at a time.
    void recover() {
        MpmcRun& state = scenario_.state();
        machine_.pause(Side::host);
        if (recovering_) return;
        std::vector<bool> died(state.gone.size());
        bool any = false;
        for (std::size_t i = 0; i != died.size(); ++i) {
            died[i] = state.dead[i] && state.gone[i];
            any = any || died[i];
        }
        if (!any) return;
        recovering_ = true;
        machine_.catch_up();
        auto const living = [&](std::size_t i) { return died[i] ? nullptr : records_ + i; };
        std::vector<Claim> held(died.size());
        // False while a thread is just claiming that may have died meanwhile.
        bool const done =
            give_up_claims(scenario_.view(), died.size(), living, far_, near_, held.data());
        for (std::size_t i = 0; i != died.size(); ++i) {
            if (!died[i] || !done) continue;
            near_.store_word(&records_[i].begin, ProducerRecord::none);
            state.dead[i] = false;
        }
        recovering_ = false;
    }

    // The last living one to come here has seen everything taken.
    void last_words(unsigned producer) {
        MpmcRun& state = scenario_.state();
        state.gone[producer] = true;
        if (state.all_gone() && scenario_.all_taken()) state.finished = true;
    }

    Scenario& scenario_;
    Machine& machine_;
    ProducerRecord* records_;
    Far far_;
    Near near_;
    bool recovering_ = false;
};

template <class Message = MpmcMessage, class Far, class Near, class ConsumerNear, class ConsumerFar>
std::string mpmc_to_device(Policies const& policies, Far far, Near near, ConsumerNear consumer_near,
                           ConsumerFar consumer_far, MpmcPlan plan) {
    MpmcScenario<ConsumerNear, ConsumerFar, Message> scenario(policies, Side::host, consumer_near,
                                                              consumer_far, plan);
    MortalProducers producers(scenario, policies.machine().host_lines() + 2, far, near);
    return scenario.run([&](unsigned producer) { producers.produce(producer); });
}

template <class Message = MpmcMessage>
std::string mpmc_to_device(Policies const& policies, MpmcPlan plan) {
    return mpmc_to_device<Message>(policies, policies.host_far(), policies.host_near(),
                                   policies.device_near(), policies.device_far(), plan);
}

// Sends to a GPU's threads, which look at several lines at once.
inline std::string mpmc_to_rows(Policies const& policies, MpmcPlan plan) {
    AdversaryBulkGpu const gpu(policies.machine());
    return mpmc_to_device(policies, policies.host_far(), policies.host_near(), BasicDeviceNear(gpu),
                          policies.device_far(), plan);
}

// Device threads that push one message each at a time.
template <class Message = MpmcMessage>
std::string mpmc_to_host(Policies const& policies, MpmcPlan plan) {
    using Producer = LanesProducer<Message, Policies::DeviceFar, Policies::DeviceNear, OneThread>;
    MpmcScenario<Policies::HostNear, Policies::HostFar, Message> scenario(
        policies, Side::device, policies.host_near(), policies.host_far(), plan);
    Machine& machine = policies.machine();
    return scenario.run([&](unsigned producer) {
        Producer end(scenario.view(), policies.device_far(), policies.device_near());
        scenario.traffic().produce(producer, end, [] { return true; });
        while (!scenario.all_taken()) machine.pause(Side::device);
        scenario.state().gone[producer] = true;
        if (scenario.state().all_gone()) scenario.state().finished = true;
    });
}

}  // namespace carillon::test
