// SPDX-License-Identifier: Apache-2.0
// The other process of these tests; its first argument is its role. It reports its steps in lines
// on its output, waits for a line on its input where the role says so, and ends with 0 if all was
// right.
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "carillon/carillon.hpp"
#include "carillon/detail/wire/config.hpp"
#include "ipc/ipc_handlers.hpp"

namespace {

using namespace carillon;
using namespace carillon::test;
using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

constexpr auto long_enough = 30s;

void say(std::string const& what) { std::cout << what << std::endl; }
// False if the process that started this one has gone.
bool await_word() {
    std::string line;
    return static_cast<bool>(std::getline(std::cin, line));
}

using Counted = Channel<Ask, Told>;

// Makes one call and checks the reply: `served` is the count of the last reply.
bool call_once(Counted& channel, std::uint64_t value, std::uint64_t& served) {
    Told const told = channel.call({value}, long_enough);
    bool const right = told.twice == 2 * value && (value == 0 || told.served == served + 1);
    served = told.served;
    return right;
}

// PATH COUNT [wait]: makes so many calls, with "wait" when it is told to; 0: until it is killed.
int call(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto channel = owner.channel<Ask, Told>();
    say("attached");
    if (arguments.size() > 2) (void)await_word();
    std::uint64_t const count = std::stoull(arguments.at(1));
    std::uint64_t served = 0;
    for (std::uint64_t i = 0; count == 0 || i < count; ++i) {
        if (!call_once(channel, i, served)) return 3;
    }
    say("first " + std::to_string(served + 1 - count));
    return 0;
}

// Sends a row of requests at once, and takes the replies from the last to the first.
bool call_backwards(Counted& channel, std::uint64_t first) {
    std::vector<Ticket> tickets;
    for (std::uint64_t i = 0; i < 8; ++i)
        tickets.push_back(channel.submit({first + i}, long_enough));
    bool right = true;
    for (std::uint64_t i = tickets.size(); i-- > 0;) {
        right = right && channel.wait(tickets[i], long_enough).twice == 2 * (first + i);
    }
    return right;
}

// PATH COUNT [wait]: makes so many calls to a kernel any of whose blocks answers, with "wait" when
// it is told to; and as many requests in rows. 0: until it is killed.
int call_any(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto channel = owner.channel<Ask, Told>();
    say("attached");
    if (arguments.size() > 2) (void)await_word();
    std::uint64_t const count = std::stoull(arguments.at(1));
    for (std::uint64_t i = 0; count == 0 || i < count; ++i) {
        if (channel.call({i}, long_enough).twice != 2 * i) return 3;
        if (i % 8 == 0 && !call_backwards(channel, 7 * i)) return 4;
    }
    say("right");
    return 0;
}

// PATH: sends as many requests as there is room for, takes the replies when it is told to, and
// calls once more.
int submit_and_take_later(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto channel = owner.channel<Ask, Told>();
    std::vector<Ticket> tickets;
    while (auto const ticket = channel.try_submit({tickets.size()})) tickets.push_back(*ticket);
    say("sent");
    (void)await_word();
    for (std::size_t i = 0; i < tickets.size(); ++i) {
        if (channel.wait(tickets[i], long_enough).twice != 2 * i) return 3;
    }
    say("right");
    try {
        (void)channel.call({1}, long_enough);
        say("answered");
    } catch (StoppedError const& error) {
        say(std::string("stopped: ") + error.what());
    }
    return 0;
}

// PATH: attaches, sends as many requests as there is room for, takes nothing, and waits.
int leave_replies(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto channel = owner.channel<Ask, Told>();
    while (channel.try_submit({1})) {
    }
    say("attached");
    (void)await_word();
    return 0;
}

// PATH: sends a request, and more when it is told to, and prints the exception in the end. A block
// that was taken back may still have a request.
int ask_twice(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto channel = owner.channel<Ask, Told>();
    (void)channel.call({1}, long_enough);
    say("attached");
    (void)await_word();
    try {
        for (unsigned i = 0; i < 1000; ++i) {
            (void)channel.call({2}, long_enough);
            std::this_thread::sleep_for(1ms);
        }
        say("answered");
    } catch (OwnerGoneError const& error) {
        say(std::string("owner gone: ") + error.what());
    } catch (StoppedError const& error) {
        say(std::string("stopped: ") + error.what());
    }
    return 0;
}

// PATH: prints the owner's answer to a client that wants other messages than the kernel has.
int want_others(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    try {
        auto channel = owner.channel<Told, Ask>();
        return 3;
    } catch (RefusedError const& error) {
        say(error.what());
        return error.reason() == RefusalReason::wrong_types ? 0 : 4;
    }
}

// Becomes another user, and prints why `ask` is refused, or that this user cannot connect.
template <class Call>
int as_another(std::string const& user, Call const& call) {
    auto const number = static_cast<uid_t>(std::stoul(user));
    if (::setgid(number) != 0 || ::setuid(number) != 0) return 5;
    try {
        call();
    } catch (RefusedError const& error) {
        say(error.what());
    } catch (SystemError const& error) {
        say(error.what());
    }
    return 0;
}

// PATH USER: as another user.
int be_another(Arguments const& arguments) {
    return as_another(arguments.at(1), [&] {
        Connection const owner(arguments.at(0), {.timeout = long_enough});
        auto channel = owner.channel<Ask, Told>();
        std::uint64_t served = 0;
        say(call_once(channel, 0, served) ? "answered" : "no reply");
    });
}

// PATH: prints which of the drivers' libraries this process has loaded after a call.
int list_drivers(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto channel = owner.channel<Ask, Told>();
    std::uint64_t served = 0;
    if (!call_once(channel, 0, served)) return 3;
    std::ifstream maps("/proc/self/maps");
    std::string loaded;
    for (std::string line; std::getline(maps, line);) {
        for (std::string const name : {"libcuda", "libcudart", "libvulkan"}) {
            if (line.find(name) != std::string::npos && loaded.find(name) == std::string::npos)
                loaded += " " + name;
        }
    }
    say("loaded:" + loaded);
    say("why: " + owner.why_host_memory());
    return 0;
}

// PATH: sends commands, one of which is refused.
int command(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto account = owner.channel<AccountHandler>();
    if (account.call(Deposit{5}, long_enough) != 5) return 3;
    if (account.call(Withdraw{2}, long_enough) != 3) return 3;
    try {
        (void)account.call(Withdraw{4}, long_enough);
        return 4;
    } catch (HandlerError const& error) {
        say(error.what());
        return error.code() == too_much ? 0 : 5;
    }
}

// PATH: messages of several lines, as many on their way as there is room for.
int call_long(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto channel = owner.channel<SumHandler>();
    for (std::uint64_t i = 0; i < 300; ++i) {
        LongAsk ask{};
        for (std::uint64_t word = 0; word < 40; ++word) ask.word[word] = 1000 * i + word;
        std::vector<Ticket> tickets;
        while (auto const ticket = channel.try_submit(ask)) tickets.push_back(*ticket);
        for (Ticket const& ticket : tickets) {
            LongAsk const told = channel.wait(ticket, long_enough);
            for (std::uint64_t word = 0; word < 40; ++word) {
                if (told.word[word] != ask.word[word] + 1) return 3;
            }
        }
    }
    return 0;
}

// Leaves a child that has all that this process has, until the child's input ends.
void leave_child() {
    if (::fork() != 0) return;
    ::pollfd input{0, 0, 0};  // whose words are not for the child
    (void)::poll(&input, 1, -1);
    ::_exit(0);
}

// PATH: attaches and ends, and leaves a child.
int fork_and_end(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto channel = owner.channel<Ask, Told>();
    std::uint64_t served = 0;
    if (!call_once(channel, 0, served)) return 3;
    leave_child();
    say("attached");
    (void)await_word();
    ::_exit(0);  // without a word
}

// PATH: creates a buffer and ends, and leaves a child.
int store_fork_and_end(Arguments const& arguments) {
    Store const store(arguments.at(0), {.timeout = long_enough});
    Buffer const buffer = store.create("unfinished", 100);
    leave_child();
    say("created");
    (void)await_word();
    ::_exit(0);  // without a word
}

// PATH: exits with all of it alive, on both sides.
int exit_with_all(Arguments const& arguments) {
    static auto const device = Device::open("emulated");
    static PersistentKernel<CountingHandler, SharedChannels> const kernel(
        device, {.blocks = 3, .idle = IdlePolicy::park()});
    static Server const server = kernel.serve(arguments.at(0));
    static Connection const owner(arguments.at(0), {.timeout = long_enough});
    static auto channel = owner.channel<Ask, Told>();
    std::uint64_t served = 0;
    if (!call_once(channel, 0, served)) return 3;
#if !CARILLON_THREAD_SANITIZER  // which reports the thread
    // Never destroyed at all.
    static auto const* const forgotten = new Connection(arguments.at(0), {.timeout = long_enough});
    static auto* const left = new Counted(forgotten->channel<Ask, Told>());
    if (!call_once(*left, 0, served)) return 3;
#endif
    say("exits");
    std::exit(0);
}

// PATH BLOCKS: owns an emulated kernel until its input ends; with one word more it leaves a child.
int own(Arguments const& arguments) {
    auto const device = Device::open("emulated");
    KernelOptions const options{.blocks = static_cast<unsigned>(std::stoul(arguments.at(1))),
                                .idle = IdlePolicy::park()};
    PersistentKernel<CountingHandler, SharedChannels> const kernel(device, options);
    Server const server = kernel.serve(arguments.at(0), {.mode = 0666});
    if (2 < arguments.size()) leave_child();
    say("serving");
    while (await_word()) {
    }
    return 0;
}

// Sends a message with `fd` that nobody reads; returns whether it was sent.
bool leave_descriptor(int to, int fd) {
    char byte = 0;
    ::iovec part{&byte, 1};
    alignas(::cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    ::msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ::cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    return ::sendmsg(to, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

// PATH: leaves as many descriptors unread as its user may, until its input ends.
int leave_unread(Arguments const& /*arguments*/) {
    for (;;) {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) return 6;
        while (leave_descriptor(ends[0], 0)) {
        }
        if (errno == ETOOMANYREFS) break;
        if (errno != EAGAIN) return 7;
    }
    say("serving");
    while (await_word()) {
    }
    return 0;
}

// PATH BLOCKS: owns several kernels and an object until its input ends; then it drains them.
int own_several(Arguments const& arguments) {
    auto const device = Device::open("emulated");
    KernelOptions const options{.blocks = static_cast<unsigned>(std::stoul(arguments.at(1))),
                                .idle = IdlePolicy::park()};
    PersistentKernel<CountingHandler, SharedChannels> quotes(device, options);
    PersistentKernel<CountingHandler, SharedChannels> risk(device, options);
    SharedMailbox<Ask> const gains(device);
    Server server(ServeOptions{.name = "desk", .log = [](std::string const&) {}});
    server.add("quotes", quotes);
    server.add("gains", gains);
    server.add("risk", risk);
    server.open(arguments.at(0));
    say("serving");
    while (await_word()) {
    }
    quotes.drain(long_enough);
    risk.drain(long_enough);
    return 0;
}

bool input_ended() {
    ::pollfd input{0, POLLIN, 0};
    return ::poll(&input, 1, 0) == 1;
}

// PATH OBJECT: calls until its input ends, of one owner after the other, as docs/guide/processes.md
// has it; how many calls were answered, and of how many that is unknown.
int follow_owners(Arguments const& arguments) {
    std::string const& path = arguments.at(0);
    std::uint64_t unknown = 0;
    std::uint64_t number = 1;
    while (!input_ended()) {
        try {
            auto const owner = connect(path, {.wait_for_owner = long_enough});
            auto orders = owner.channel<Ask, Told>(arguments.at(1));
            for (; !input_ended(); ++number) {
                if (orders.call({number}, 1s).twice != 2 * number) return 3;
            }
        } catch (StoppedError const&) {
            ++unknown;
        } catch (TimeoutError const&) {
            ++unknown;
        }
    }
    say("answered " + std::to_string(number - 1) + " unknown " + std::to_string(unknown));
    return 0;
}

// USER PATH BLOCKS: as `own`, as another user.
int own_as(Arguments const& arguments) {
    auto const user = static_cast<uid_t>(std::stoul(arguments.at(0)));
    if (::setgid(user) != 0 || ::setuid(user) != 0) return 3;
    return own({arguments.begin() + 1, arguments.end()});
}

// Enters a user namespace in which no user has a name.
bool become_nameless() {
    if (::unshare(CLONE_NEWUSER) == 0) return true;
    say("no namespace");
    return false;
}

// PATH: owns an emulated kernel there, for the users 5 and 65534 and their groups alone.
int own_nameless(Arguments const& arguments) {
    if (!become_nameless()) return 0;
    PersistentKernel<CountingHandler, SharedChannels> const kernel(
        Device::open("emulated"), {.blocks = 1, .idle = IdlePolicy::park()});
    Server const server =
        kernel.serve(arguments.at(0), {.mode = 0666, .users = {5, 65534}, .groups = {5, 65534}});
    say("serving");
    while (await_word()) {
    }
    return 0;
}

// PATH: says how it goes to connect, as to its own owner, and to that of the user 65534.
int reach_nameless(Arguments const& arguments) {
    if (!become_nameless()) return 0;
    for (auto const user : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(65534)}) {
        try {
            Connection const owner(arguments.at(0), {.timeout = long_enough, .owner_user = user});
            say("reached");
        } catch (RefusedError const& error) {
            say(std::string(to_string(error.reason())));
        }
    }
    return 0;
}

std::byte pattern_at(std::size_t at, unsigned seed) {
    return static_cast<std::byte>(at * 7 + seed);
}

// PATH NAME BYTES SEED: makes a buffer and writes it, seals it when it is told to, and ends.
int store_put(Arguments const& arguments) {
    Store const store(arguments.at(0), {.timeout = long_enough});
    Buffer buffer = store.create(arguments.at(1), std::stoull(arguments.at(2)));
    std::vector<std::byte> bytes(buffer.size());
    auto const seed = static_cast<unsigned>(std::stoul(arguments.at(3)));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern_at(i, seed);
    buffer.write(bytes);
    say("written");
    if (!await_word()) return 3;
    (void)buffer.seal();
    say("sealed");
    (void)await_word();
    return 0;
}

// PATH USER COUNT: connects as another user so many times, and says nothing until its input ends.
int crowd(Arguments const& arguments) {
    if (::setgid(static_cast<gid_t>(std::stoul(arguments.at(1)))) != 0 ||
        ::setuid(static_cast<uid_t>(std::stoul(arguments.at(1)))) != 0)
        return 5;
    ::sockaddr_un address{};
    address.sun_family = AF_UNIX;
    arguments.at(0).copy(address.sun_path, sizeof(address.sun_path) - 1);
    for (unsigned long i = 0; i < std::stoul(arguments.at(2)); ++i) {
        int const end = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
        if (::connect(end, reinterpret_cast<::sockaddr const*>(&address), sizeof(address)) != 0)
            return 6;
        std::array<char, 1024> said{};
        ::pollfd readable{end, POLLIN, 0};
        if (::poll(&readable, 1, 30'000) != 1 || ::read(end, said.data(), said.size()) <= 0)
            return 7;
    }
    say("refused");
    while (await_word()) {
    }
    return 0;
}

// PATH ID SEED: looks at each byte of a buffer.
int store_get(Arguments const& arguments) {
    Store const store(arguments.at(0), {.timeout = long_enough});
    Buffer const buffer = store.get(std::stoull(arguments.at(1)));
    HostMirror const mirror(buffer);
    auto const seed = static_cast<unsigned>(std::stoul(arguments.at(2)));
    bool right = true;
    for (std::size_t i = 0; i < buffer.size(); ++i) {
        right = right && mirror.data()[i] == pattern_at(i, seed);
    }
    say(std::to_string(buffer.size()) + " bytes, " + (right ? "right" : "wrong"));
    return 0;
}

// PATH USER: as another user, gets the buffer "owners" and would like to remove it.
int store_be_another(Arguments const& arguments) {
    return as_another(arguments.at(1), [&] {
        Store const store(arguments.at(0), {.timeout = long_enough});
        say(std::to_string(store.get("owners").size()) + " bytes");
        store.remove("owners");
        say("removed");
    });
}

// PATH [BYTES HOLDS DEVICE]: has a store until its input ends.
int store_own(Arguments const& arguments) {
    bool const as_told = arguments.size() > 1;
    std::size_t const bytes = as_told ? std::stoull(arguments.at(1)) : 1 << 20;
    unsigned const holds = as_told ? static_cast<unsigned>(std::stoul(arguments.at(2))) : 1000;
    Store const store(Device::open(as_told ? arguments.at(3) : "emulated"), {.bytes = bytes});
    Server const server =
        store.serve(arguments.at(0), {.mode = 0666, .buffers_per_connection = holds});
    say("serving");
    while (await_word()) {
    }
    return 0;
}

// PATH: commits the first and the third chunk of "ticks"; it is killed at the second.
int die_in_a_chunk(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    try {
        auto ring = owner.chunk_ring<std::uint64_t>("ticks");
        auto first = ring.claim(long_enough);
        auto const second = ring.claim(long_enough);
        auto third = ring.claim(long_enough);
        third.commit(1, 3);
        first.commit(1, 1);
        say("committed 1 and 3");
        (void)await_word();
        return 0;
    } catch (RefusedError const& error) {
        say(error.what());
        return 0;
    }
}

// PATH: 1, 2, 3 and so on into the ring "orders".
int push_for_ever(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto ring = owner.ring<Ask, Direction::to_device>("orders");
    say("pushes");
    for (std::uint64_t i = 1;; ++i) ring.push({i}, long_enough);
}

// PATH: prints the status that the owner's device sets, and its log, until the owner has ended.
int follow(Arguments const& arguments) {
    Connection const owner(arguments.at(0), {.timeout = long_enough});
    auto status = owner.mailbox<Ask, Direction::to_host>("status");
    LogReader log = owner.log("log");
    Ask now{};
    if (!status.refresh(now)) return 3;
    say("status " + std::to_string(now.value));
    try {
        while (auto const record = log.next(long_enough)) say(record->text);
    } catch (OwnerGoneError const&) {
        return 0;
    }
    return 4;
}

int run(Arguments arguments);

// ROLE...: runs a role in a pid namespace of its own, in which no number of another process is
// known.
int contained(Arguments const& arguments) {
    if (::unshare(CLONE_NEWPID) != 0) {
        say("no namespace");
        return 0;
    }
    pid_t const child = ::fork();
    if (child == 0) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::_exit(run(arguments));
    }
    int status = 0;
    (void)::waitpid(child, &status, 0);
    // The leak sanitizer would start a thread, which this process must not do any more.
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
}

// USER ROLE...: runs a role as another user, with a user's default limit of descriptors.
int as_user(Arguments const& arguments) {
    auto const user = static_cast<uid_t>(std::stoul(arguments.at(0)));
    ::rlimit const descriptors{1024, 1024};
    if (::setrlimit(RLIMIT_NOFILE, &descriptors) != 0 || ::setgroups(0, nullptr) != 0 ||
        ::setgid(user) != 0 || ::setuid(user) != 0) {
        return 5;
    }
    return run({arguments.begin() + 1, arguments.end()});
}

int run(Arguments arguments) {
    std::map<std::string_view, int (*)(Arguments const&)> const roles{
        {"call", &call},
        {"call-any", &call_any},
        {"submit-and-take-later", &submit_and_take_later},
        {"leave-replies", &leave_replies},
        {"ask-twice", &ask_twice},
        {"want-others", &want_others},
        {"be-another", &be_another},
        {"list-drivers", &list_drivers},
        {"command", &command},
        {"call-long", &call_long},
        {"fork-and-end", &fork_and_end},
        {"store-fork-and-end", &store_fork_and_end},
        {"own-as", &own_as},
        {"own-nameless", &own_nameless},
        {"reach-nameless", &reach_nameless},
        {"own-several", &own_several},
        {"follow-owners", &follow_owners},
        {"exit-with-all", &exit_with_all},
        {"own", &own},
        {"leave-unread", &leave_unread},
        {"store-put", &store_put},
        {"store-get", &store_get},
        {"store-be-another", &store_be_another},
        {"store-own", &store_own},
        {"crowd", &crowd},
        {"die-in-a-chunk", &die_in_a_chunk},
        {"push-for-ever", &push_for_ever},
        {"follow", &follow},
        {"contained", &contained},
        {"as", &as_user}};
    if (arguments.size() < 2 || !roles.contains(arguments[0])) return 2;
    std::string const role = arguments[0];
    arguments.erase(arguments.begin());
    try {
        return roles.at(role)(arguments);
    } catch (std::exception const& error) {
        std::cerr << "peer " << role << ": " << error.what() << '\n';
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) { return run(Arguments(argv + 1, argv + argc)); }
