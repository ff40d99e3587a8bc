// SPDX-License-Identifier: Apache-2.0
#include "codec.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "carillon/error.hpp"
#include "errors.hpp"
#include "py_door.hpp"

namespace carillon::python {
namespace {

template <class T>
bool put(T number, std::byte* at) {
    std::memcpy(at, &number, sizeof(number));
    return true;
}
template <class T>
T get(std::byte const* at) {
    T number;
    std::memcpy(&number, at, sizeof(number));
    return number;
}

// Whether float() makes a number of `value` as it is: NumPy makes one of a text and of a time, too.
// Python's part decides about an array of no dimensions.
bool is_real(PyObject* value) {
    if (PyFloat_CheckExact(value) || PyLong_CheckExact(value)) return true;
    if (PyArray_IsScalar(value, Floating) || PyArray_IsScalar(value, Bool)) return true;
    if (PyArray_IsScalar(value, Integer)) return !PyArray_IsScalar(value, Timedelta);
    return !PyArray_IsScalar(value, Generic) && !PyArray_Check(value);
}

template <class Float>
bool put_float(PyObject* value, std::byte* at) {
    if (!is_real(value)) return false;
    double const number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred() != nullptr) return cleared_refusal();
    auto const as_it_is = static_cast<Float>(number);
    if (std::isinf(as_it_is) && !std::isinf(number)) return false;
    return put(as_it_is, at);
}

// A masked value is no value: Python's part looks for one.
bool may_be_masked(PyObject* value) { return PyArray_Check(value) && !PyArray_CheckExact(value); }

template <class Integer>
bool put_integer(PyObject* value, std::byte* at) {
    if (!PyLong_CheckExact(value) && may_be_masked(value)) return false;
    nb::object const whole = nb::steal(PyNumber_Index(value));
    if (!whole.is_valid()) return cleared_refusal();
    if constexpr (std::is_signed_v<Integer>) {
        long long const number = PyLong_AsLongLong(whole.ptr());
        if (number == -1 && PyErr_Occurred() != nullptr) return cleared_refusal();
        return std::in_range<Integer>(number) && put(static_cast<Integer>(number), at);
    } else {
        unsigned long long const number = PyLong_AsUnsignedLongLong(whole.ptr());
        if (number == ~0ULL && PyErr_Occurred() != nullptr) return cleared_refusal();
        return std::in_range<Integer>(number) && put(static_cast<Integer>(number), at);
    }
}

bool put_truth(PyObject* value, std::byte* at) {
    bool const is_numpys = PyArray_IsScalar(value, Bool);
    if (!is_numpys && PyBool_Check(value) == 0) return false;
    return put(PyObject_IsTrue(value) != 0, at);
}

// Whether `value` became the member's bytes: the member can hold it as it is.
bool put_member(Member const& member, PyObject* value, std::byte* message) {
    std::byte* const at = message + member.offset;
    switch (member.code) {
        case 'd':
            return put_float<double>(value, at);
        case 'f':
            return put_float<float>(value, at);
        case 'b':
            return put_integer<std::int8_t>(value, at);
        case 'h':
            return put_integer<std::int16_t>(value, at);
        case 'i':
            return put_integer<std::int32_t>(value, at);
        case 'q':
            return put_integer<std::int64_t>(value, at);
        case 'B':
            return put_integer<std::uint8_t>(value, at);
        case 'H':
            return put_integer<std::uint16_t>(value, at);
        case 'I':
            return put_integer<std::uint32_t>(value, at);
        case 'Q':
            return put_integer<std::uint64_t>(value, at);
        case '?':
            return put_truth(value, at);
        default:
            return false;
    }
}

// Returns a new reference.
PyObject* number_at(Member const& member, std::byte const* message) {
    std::byte const* const at = message + member.offset;
    switch (member.code) {
        case 'd':
            return PyFloat_FromDouble(get<double>(at));
        case 'f':
            return PyFloat_FromDouble(get<float>(at));
        case 'b':
            return PyLong_FromLong(get<std::int8_t>(at));
        case 'h':
            return PyLong_FromLong(get<std::int16_t>(at));
        case 'i':
            return PyLong_FromLong(get<std::int32_t>(at));
        case 'q':
            return PyLong_FromLongLong(get<std::int64_t>(at));
        case 'B':
            return PyLong_FromLong(get<std::uint8_t>(at));
        case 'H':
            return PyLong_FromLong(get<std::uint16_t>(at));
        case 'I':
            return PyLong_FromUnsignedLong(get<std::uint32_t>(at));
        case 'Q':
            return PyLong_FromUnsignedLongLong(get<std::uint64_t>(at));
        default:  // '?'
            return PyBool_FromLong(get<std::uint8_t>(at));
    }
}

// Whether `value_of(i)`, for each of `members`, became the bytes of `message`.
template <class ValueOf>
bool put_members(std::vector<Member> const& members, std::byte* message, std::size_t size,
                 ValueOf const& value_of) {
    if (members.empty()) return false;
    std::memset(message, 0, size);
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (!put_member(members[i], value_of(i).ptr(), message)) return false;
    }
    return true;
}

// put_member() knows their codes.
std::vector<Member> members_of(ListedMembers const& listed) {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();  // which put_truth() asks
    std::vector<Member> members;
    for (auto const& [offset, code] : listed) members.push_back({offset, code.at(0)});
    return members;
}

// A new reference to the text by which attributes are found fastest.
PyObject* interned(nb::str const& name) {
    PyObject* text = nb::borrow(name).release().ptr();
    PyUnicode_InternInPlace(&text);
    return text;
}

nb::bytes encoded(Codec const& codec, nb::handle value, char const* call) {
    return behind_door(CallName{call}, [&] {
        Message message;
        codec.encode(value, message);
        return nb::bytes(message.bytes().data(), message.bytes().size());
    });
}

// The bytes of several messages, one behind the other.
nb::bytes row_of(Codec const& codec, nb::handle values) {
    Argument const messages{"messages"};
    if (PyByteArray_Check(values.ptr()) || PyMemoryView_Check(values.ptr())) {
        messages.refuse_type(values, "a list");
    }
    std::string row;
    for (nb::handle const value : messages.elements(values)) {
        Message message;
        codec.encode(value, message);
        row.append(reinterpret_cast<char const*>(message.bytes().data()), message.bytes().size());
    }
    return nb::bytes(row.data(), row.size());
}
nb::bytes encoded_row(Codec const& codec, nb::handle values, char const* call) {
    return behind_door(CallName{call}, [&] { return row_of(codec, values); });
}

nb::object decoded(Codec const& codec, nb::handle data) {
    return behind_door(CallName{message_call},
                       [&] { return codec.decode(HeldBytes(data, HeldBytes::Use::read).bytes()); });
}

int traverse_codec(PyObject* self, visitproc visit, void* arg) noexcept {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Codec>(self)->traverse(visit, arg) : 0;
}
PyType_Slot collected_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_codec)},
    {0, nullptr},
};

}  // namespace

std::byte* Message::room(std::size_t size) {
    if (size > most) {
        throw UsageError(std::to_string(size) + " bytes are longer than any message");
    }
    bytes_ = std::span<std::byte const>(room_.data(), size);
    return room_.data();
}

nb::object Codec::decode(std::span<std::byte const> data) const {
    if (data.size() == size_) return value_of(data);
    throw UsageError("the message has " + std::to_string(data.size()) + " bytes, not " +
                     std::to_string(size_));
}

void Codec::encode_in_python(nb::handle value, Message& into) const {
    into.hold(nb::find(this).attr("_to_bytes")(value));
}
nb::object Codec::decode_in_python(std::span<std::byte const> data) const {
    return nb::find(this).attr("_from_bytes")(nb::bytes(data.data(), data.size()));
}

void BytesMessages::encode(nb::handle value, Message& into) const { into.hold(value); }
nb::object BytesMessages::value_of(std::span<std::byte const> data) const {
    return nb::bytes(data.data(), data.size());
}
int BytesMessages::traverse(visitproc /*visit*/, void* /*arg*/) const { return 0; }

RecordMessages::RecordMessages(nb::object dtype, ListedMembers const& members, Gaps gaps)
    : Codec(nb::cast<std::size_t>(dtype.attr("itemsize"))),
      dtype_(std::move(dtype)),
      members_(members_of(members)),
      gaps_(std::move(gaps)) {
    if (!PyArray_DescrCheck(dtype_.ptr()))
        throw UsageError("message type", "the argument is not a dtype");
    is_number_ = !PyDataType_HASFIELDS(reinterpret_cast<PyArray_Descr*>(dtype_.ptr()));
}

void RecordMessages::encode(nb::handle value, Message& into) const {
    PyObject* const object = value.ptr();
    if (Py_TYPE(object) == &PyVoidArrType_Type) {
        auto const* const scalar = reinterpret_cast<PyVoidScalarObject const*>(object);
        auto* const its = reinterpret_cast<PyObject*>(scalar->descr);
        if (its == dtype_.ptr() || dtype_.equal(nb::handle(its))) {
            std::byte* const room = into.room(size());
            std::memcpy(room, scalar->obval, size());
            for (auto const& [begin, bytes] : gaps_) std::memset(room + begin, 0, bytes);
            return;
        }
    } else if (!is_number_ && (PyTuple_CheckExact(object) || PyList_CheckExact(object))) {
        auto const item = [&](std::size_t i) {
            nb::object found = nb::steal(PySequence_GetItem(object, static_cast<Py_ssize_t>(i)));
            if (!found.is_valid()) throw nb::python_error();  // a member has shortened the list
            return found;
        };
        if (PySequence_Size(object) == static_cast<Py_ssize_t>(members_.size()) &&
            put_members(members_, into.room(size()), size(), item)) {
            return;
        }
    } else if (is_number_ && (PyFloat_CheckExact(object) || PyLong_CheckExact(object))) {
        if (put_members(members_, into.room(size()), size(), [&](std::size_t) { return value; })) {
            return;
        }
    }
    encode_in_python(value, into);  // which says what is wrong
}

// NumPy's records are of an array: one that has its bytes itself takes assignments for nothing. An
// array for each would be most of what a call costs.
nb::object RecordMessages::value_of(std::span<std::byte const> data) const {
    auto* const dtype = reinterpret_cast<PyArray_Descr*>(dtype_.ptr());
    auto const scalar_at = [&](std::byte const* where, PyObject* base) {
        PyObject* const made = PyArray_Scalar(const_cast<std::byte*>(where), dtype, base);
        if (made == nullptr) throw nb::python_error();
        return nb::steal(made);
    };
    if (is_number_) return scalar_at(data.data(), nullptr);
    if (rows_.empty()) make_rows();
    std::span<std::byte> const row = rows_.first(size());
    std::memcpy(row.data(), data.data(), size());
    rows_ = rows_.subspan(size());
    nb::object const array = array_;  // a collected object may decode, too
    return scalar_at(row.data(), array.ptr());
}

void RecordMessages::make_rows() const {
    auto* const dtype = reinterpret_cast<PyArray_Descr*>(dtype_.ptr());
    auto const count = static_cast<npy_intp>(std::max<std::size_t>(rows_bytes / size(), 1));
    dtype_.inc_ref();  // which the array takes
    array_ = nb::steal(PyArray_SimpleNewFromDescr(1, &count, dtype));
    if (!array_.is_valid()) throw nb::python_error();
    auto* const array = reinterpret_cast<PyArrayObject*>(array_.ptr());
    rows_ = {static_cast<std::byte*>(PyArray_DATA(array)),
             static_cast<std::size_t>(PyArray_NBYTES(array))};
}

int RecordMessages::traverse(visitproc visit, void* arg) const {
    Py_VISIT(dtype_.ptr());
    Py_VISIT(array_.ptr());
    return 0;
}

DataclassMessages::DataclassMessages(std::size_t size, nb::type_object owner,
                                     std::vector<nb::str> names, ListedMembers const& members)
    : Codec(size),
      owner_(std::move(owner)),
      names_(std::move(names)),
      members_(members_of(members)) {
    if (!members_.empty() && names_.size() != members_.size()) {
        throw UsageError("message type", "not every member has a name");
    }
    for (nb::str& name : names_) name = nb::steal<nb::str>(interned(name));
}

void DataclassMessages::encode(nb::handle value, Message& into) const {
    // A value of a subclass may have further members.
    bool const is_one = reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())) == owner_.ptr();
    auto const member = [&](std::size_t i) -> nb::object { return nb::getattr(value, names_[i]); };
    if (is_one && put_members(members_, into.room(size()), size(), member)) return;
    encode_in_python(value, into);  // which says what is wrong
}

nb::object DataclassMessages::value_of(std::span<std::byte const> data) const {
    if (members_.empty()) return decode_in_python(data);
    nb::object const numbers = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(members_.size())));
    for (std::size_t i = 0; numbers.is_valid() && i < members_.size(); ++i) {
        PyObject* const number = number_at(members_[i], data.data());
        if (number == nullptr) throw nb::python_error();
        PyTuple_SetItem(numbers.ptr(), static_cast<Py_ssize_t>(i), number);
    }
    PyObject* const made =
        numbers.is_valid() ? PyObject_CallObject(owner_.ptr(), numbers.ptr()) : nullptr;
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
}

int DataclassMessages::traverse(visitproc visit, void* arg) const {
    Py_VISIT(owner_.ptr());
    for (nb::str const& name : names_) Py_VISIT(name.ptr());
    return 0;
}

void bind_codec(nb::module_& module) {
    nb::class_<Codec>(module, "MessageCodec", nb::type_slots(collected_slots),
                      "Messages of one type, as values and as bytes.")
        .def_prop_ro("size", &Codec::size, "Bytes of a message.")
        .def("encode", encoded, nb::arg("value").none(), nb::arg("call") = message_call,
             "The bytes of one message.")
        .def("_row", encoded_row, nb::arg("values").none(), nb::arg("call") = message_call,
             "The bytes of several messages in a row.")
        .def("decode", decoded, nb::arg("data"), "The value of one message.");
    nb::class_<BytesMessages, Codec>(module, "BytesMessages", "Messages that stay bytes.")
        .def(nb::init<std::size_t>(), nb::arg("size"));
    nb::class_<RecordMessages, Codec>(module, "RecordMessages", "Messages of a NumPy dtype.")
        .def(nb::init<nb::object, ListedMembers const&, Gaps>(), nb::arg("dtype"),
             nb::arg("members"), nb::arg("gaps"));
    nb::class_<DataclassMessages, Codec>(module, "DataclassMessages",
                                         "Messages that are instances of a dataclass.")
        .def(nb::init<std::size_t, nb::type_object, std::vector<nb::str>, ListedMembers const&>(),
             nb::arg("size"), nb::arg("owner"), nb::arg("names"), nb::arg("members"));
}

}  // namespace carillon::python
