#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a build of carillon and builds the project in tests/consumer with it, as others would.
Exit status 77, and the reason, where this machine or the build lacks what a test is about.
Usage: install_test.py TEST BUILD_FOLDER FOLDER_FOR_WHAT_IS_MADE"""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[2])
CACHE = dict(re.findall(r"^(\w+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE))
SOURCE = pathlib.Path(CACHE["CMAKE_HOME_DIRECTORY"])
CMAKE = CACHE["CMAKE_COMMAND"]
CXX = CACHE["CMAKE_CXX_COMPILER"]
NVCC = CACHE.get("CMAKE_CUDA_COMPILER") if CACHE["CARILLON_HAVE_NVCC"] == "ON" else None
TREE = pathlib.Path(sys.argv[3]) / "tree"  # the tree that `tree` installs, and others use
WORK = pathlib.Path(sys.argv[3]) / sys.argv[1]
EMULATED = "42, emulated, compiled by the C++ compiler"
BY_NVCC = "42, emulated, compiled by nvcc"
# Nothing is compiled for longer than it takes to see that it works.
COMMON = ["-G", CACHE["CMAKE_GENERATOR"], f"-DCMAKE_CXX_COMPILER={CXX}",
          f"-DCMAKE_CXX_COMPILER_LAUNCHER={CACHE.get('CMAKE_CXX_COMPILER_LAUNCHER', '')}",
          "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG",
          "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0",  # all as one
          "-DCARILLON_CUDA_ARCHITECTURES=75-virtual"]


def run(*command, fails=False, **environment):
    """What the command prints. `fails`: it is to fail."""
    words = [str(word) for word in command]
    result = subprocess.run(words, env={**os.environ, **environment}, check=False, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if (result.returncode != 0) != fails:
        sys.exit(f"{' '.join(words)}\n{result.stdout}exit status {result.returncode}")
    return result.stdout


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            skip(f"there is no {program} here")


def check(holds, words):
    if not holds:
        sys.exit(words)


def configure_consumer(folder, *options, **how):
    return run(CMAKE, "-S", SOURCE / "tests/consumer", "-B", folder, *COMMON, *options, **how)


def consumer_says(folder, *options, **environment):
    configure_consumer(folder, *options, **environment)
    run(CMAKE, "--build", folder)
    return run(folder / "consumer").strip()


def find_package_says(prefix, *options, **environment):
    return consumer_says(WORK / "build", f"-DCMAKE_PREFIX_PATH={prefix}", *options, **environment)


def built_by_hand(prefix, *options, fails=False):
    """What the compiler says of the consumer, and pkg-config's flags that it was built with."""
    files = next(prefix.rglob("carillon.pc")).parent
    flags = run("pkg-config", "--cflags", "--libs", "carillon", PKG_CONFIG_PATH=str(files)).split()
    source = SOURCE / "tests/consumer/consumer.cpp"
    return run(CXX, *options, source, "-o", WORK / "consumer", *flags, fails=fails), flags


def pkg_config_says(prefix, *options, **environment):
    """What the consumer says, and the flags that it was built with, of which the compiler says
    nothing."""
    usual = ("-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow")
    said, flags = built_by_hand(prefix, *usual, *options)
    expect(said, "")
    return run(WORK / "consumer", **environment).strip(), flags


def expect(said, words):
    check(said == words, f"the consumer says: {said}\ninstead of: {words}")


def names_no_folder_of_ours(prefix):
    """Debug information names the sources: of such a build only what is text is looked at."""
    text_only = CACHE.get("CMAKE_BUILD_TYPE") not in ("", "Release", "MinSizeRel")
    for file in filter(pathlib.Path.is_file, prefix.rglob("*")):
        content = file.read_bytes()
        if text_only and b"\0" in content:
            continue
        for folder in (SOURCE, BUILD):
            check(str(folder).encode() not in content, f"{file} names {folder}")


def headers_below(folder, *kinds):
    return {path.relative_to(folder) for kind in kinds for path in (folder / "include").rglob(kind)}


def tree():
    run(CMAKE, "--install", BUILD, "--prefix", TREE)
    names_no_folder_of_ours(TREE)
    installed = {path.relative_to(TREE) for path in TREE.rglob("*") if path.is_file()}
    headers = headers_below(SOURCE, "*.hpp", "*.def")
    if CACHE.get("CARILLON_C") == "ON":
        headers |= headers_below(SOURCE, "*.h")
    if CACHE.get("CARILLON_COMPAT") == "ON":
        headers |= headers_below(SOURCE / "compat", "*.h")
    check({path for path in installed if path.parts[0] == "include"} == headers,
          "the headers that are installed are not those in include/ and compat/include/")
    others = {path.parts[0] for path in installed} - {"include", "bin", "share"}
    check(all(part.startswith("lib") for part in others), f"also installed: {others}")
    if CACHE["CARILLON_TOOLS"] == "ON":
        check(re.match(r"\d", run(TREE / "bin/carillon", "--version")), "carillon --version")


def findPackage():  # without device code, even if there is an nvcc
    expect(find_package_says(TREE, "-DCONSUMER_COMPONENTS=host", "-DCONSUMER_DEVICE_SOURCES=ON"),
           EMULATED)


def exampleProject():
    """examples/project, as somebody copies it."""
    project = WORK / "project"
    shutil.copytree(SOURCE / "examples/project", project)
    run(CMAKE, "-S", project, "-B", WORK / "build", *COMMON, f"-DCMAKE_PREFIX_PATH={TREE}",
        "-DCARILLON_CUDA=off")
    run(CMAKE, "--build", WORK / "build")
    said = run(WORK / "build/app", CUDA_VISIBLE_DEVICES="")  # and that the device is emulated
    check(said.endswith("42\n"), f"the project's program says: {said}")


def findPackageWithNvcc():
    if not NVCC:
        skip("this build has no device code")
    path = f"{pathlib.Path(NVCC).parent}:{os.environ['PATH']}"
    expect(find_package_says(TREE, "-DCONSUMER_COMPONENTS=cuda", "-DCONSUMER_DEVICE_SOURCES=ON",
                             PATH=path), BY_NVCC)


def handlerOfTheHostAlone():
    """It is refused for the GPU: with the consumer's CMake project, and by hand."""
    if not NVCC:
        skip("this build has no device code")
    flag = "-DCONSUMER_HOST_HANDLER"
    path = f"{pathlib.Path(NVCC).parent}:{os.environ['PATH']}"
    configure_consumer(WORK / "build", f"-DCMAKE_PREFIX_PATH={TREE}", "-DCONSUMER_COMPONENTS=cuda",
                       "-DCONSUMER_DEVICE_SOURCES=ON", PATH=path, CUDAFLAGS=flag)
    by_cmake = run(CMAKE, "--build", WORK / "build", fails=True)
    by_hand = run(NVCC, "-std=c++20", "-x", "cu", "-ptx", flag, "-isystem", TREE / "include",
                  SOURCE / "tests/consumer/consumer.cpp", "-o", WORK / "ptx", fails=True)
    for said in (by_cmake, by_hand):
        check("functor_needs_CARILLON_HD" in said, said)


def refusals():
    def says(*options, **environment):
        output = configure_consumer(WORK / "build", f"-DCMAKE_PREFIX_PATH={TREE}", *options,
                                    fails=True, **environment)
        return " ".join(output.split())

    said = says("-DCONSUMER_COMPONENTS=cuda", "-DCARILLON_CUDA=off")
    check("no component cuda: CARILLON_CUDA is off" in said, said)
    said = says("-DCONSUMER_COMPONENTS=tools", "-DCARILLON_CUDA=off")
    check("there is no component tools (only host, cuda and testing)" in said, said)
    said = says("-DCONSUMER_COMPONENTS=host", "-DCARILLON_CUDA=nvcc")
    check("CARILLON_CUDA is nvcc, but" in said, said)
    if NVCC:
        path = f"{pathlib.Path(NVCC).parent}:{os.environ['PATH']}"
        said = says("-DCONSUMER_COMPONENTS=cuda", "-DCARILLON_CUDA=nvcc", "-DCONSUMER_FUNCTION=ON",
                    PATH=path)
        check("within the function consumer_device_sources(): call it in a CMakeLists.txt" in said,
              said)
        if not glob.glob("/dev/nvidia[0-9]*"):
            said = says("-DCONSUMER_COMPONENTS=cuda", "-DCARILLON_CUDA_ARCHITECTURES=native", PATH=path)
            check("is native, but this machine has no GPU" in said, said)


def compiled_for(package, source):
    """A program in C that pkg-config's flags of a package compile, with the libraries beside it."""
    files = next(TREE.rglob(f"{package}.pc")).parent
    flags = run("pkg-config", "--cflags", "--libs", package, PKG_CONFIG_PATH=str(files)).split()
    WORK.mkdir(parents=True, exist_ok=True)
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", SOURCE / source, "-o",
        WORK / "program", *flags, f"-Wl,-rpath,{files.parent}")
    return WORK / "program"


def testing():
    """A unit test of somebody else's, for a handler of several threads."""
    said = " ".join(configure_consumer(
        WORK / "without", f"-DCMAKE_PREFIX_PATH={TREE}", "-DCONSUMER_COMPONENTS=testing",
        "-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON", fails=True).split())
    check("no component testing: " in said, said)
    if not list(TREE.rglob("libcarillon_testing.a")):
        skip("this build has no carillon::testing")
    configure_consumer(WORK / "build", f"-DCMAKE_PREFIX_PATH={TREE}",
                       "-DCONSUMER_COMPONENTS=host;testing", "-DCONSUMER_TESTING=ON")
    run(CMAKE, "--build", WORK / "build", "--target", "consumer_test")
    expect(run(WORK / "build/consumer_test").strip(), "42, and without the barrier an error")


def c():
    """The C library, by pkg-config and by CMake."""
    need("pkg-config", "cc")
    if CACHE.get("CARILLON_C") != "ON":
        skip("this build has no library for C")
    program = compiled_for("carillon-c", "tests/consumer/consumer.c")
    expect(run(program).strip(), "42, emulated, in C")
    configure_consumer(WORK / "build", f"-DCMAKE_PREFIX_PATH={TREE}", "-DCONSUMER_C=ON",
                       "-DCONSUMER_COMPONENTS=host")
    run(CMAKE, "--build", WORK / "build", "--target", "consumer_c")
    expect(run(WORK / "build/consumer_c").strip(), "42, emulated, in C")


def need_compat():
    need("pkg-config", "cc")
    if CACHE.get("CARILLON_COMPAT") != "ON":
        skip("this build has no libraries with gdrcopy's and vkgdr's calls")


def gdrcopys():
    """A program for gdrcopy, by pkg-config and by CMake."""
    need_compat()
    program = compiled_for("carillon-gdrapi", "examples/pin_memory.c")
    expect(run(program, CARILLON_DEVICE="emulated").strip(), "to the device and back")
    configure_consumer(WORK / "build", f"-DCMAKE_PREFIX_PATH={TREE}", "-DCONSUMER_GDRCOPY=ON",
                       "-DCONSUMER_COMPONENTS=host")
    run(CMAKE, "--build", WORK / "build", "--target", "consumer_gdrcopy")
    said = run(WORK / "build/consumer_gdrcopy", CARILLON_DEVICE="emulated")
    expect(said.strip(), "to the device and back")


def vkgdrs():
    """A program for vkgdr, by pkg-config, with the library beside it."""
    need_compat()
    said = run(compiled_for("carillon-vkgdr", "tests/compat/vkgdr_test.c"), "errors")
    check("null pointer" in said, said)


def pkgConfig():
    need("pkg-config")
    said, _ = pkg_config_says(TREE)
    expect(said, EMULATED)


def otherOptions():
    """A program is compiled with options that the library was not: it works, or does not link."""
    need("pkg-config")
    works = ("-std=c++23", "-DNDEBUG", "-fno-rtti", "-D_GLIBCXX_ASSERTIONS", "-O1")
    expect(pkg_config_says(TREE, *works)[0], EMULATED)
    for option, words in (("-D_GLIBCXX_DEBUG", "compiled_with_GLIBCXX_DEBUG"),
                          ("-D_GLIBCXX_USE_CXX11_ABI=0", "compiled_without_CXX11_ABI")):
        said = built_by_hand(TREE, "-std=c++20", option, fails=True)[0]
        check("undefined reference" in said and words in said, said)
        said = built_by_hand(TREE, "-std=c++20", option, "-DCONSUMER_OF_ONE_HEADER", fails=True)[0]
        check("undefined reference" in said and words in said, said)


def notWholeBuild():
    """One of which a part has not been built is not installed at all."""
    build = WORK / "build"
    run(CMAKE, "-S", SOURCE, "-B", build, *COMMON, "-DCARILLON_CUDA=off", "-DCARILLON_TESTS=OFF",
        "-DCARILLON_BENCH=OFF", "-DCARILLON_EXAMPLES=OFF", "-DCMAKE_INSTALL_INCLUDEDIR=/there/include")
    for package in (build / "install").glob("*.pc"):  # some systems give whole paths
        said = package.read_text()
        check("\nincludedir=/there/include\n" in said and "\nlibdir=${prefix}/" in said, said)
    said = run(CMAKE, "--install", build, "--prefix", WORK / "tree", fails=True)
    check("carillon: this build is not whole" in " ".join(said.split()), said)
    check(not (WORK / "tree").exists(), "a part of it was installed")


def addSubdirectory():
    """With a shared library, which sharedLibrary() installs."""
    cuda = "nvcc" if NVCC else "off"
    said = consumer_says(WORK / "build", f"-DCONSUMER_SUBDIRECTORY={SOURCE}",
                         "-DCONSUMER_DEVICE_SOURCES=ON", f"-DCARILLON_CUDA={cuda}",
                         "-DBUILD_SHARED_LIBS=ON", "-DCARILLON_INSTALL=ON")
    expect(said, BY_NVCC if NVCC else EMULATED)


def sharedLibrary():
    prefix = WORK / "tree"
    run(CMAKE, "--install", WORK.parent / "addSubdirectory/build", "--prefix", prefix)
    names_no_folder_of_ours(prefix)
    expect(find_package_says(prefix, "-DCARILLON_CUDA=off"), EMULATED)
    if shutil.which("pkg-config"):
        folder = next(prefix.rglob("libcarillon.so")).parent
        said, flags = pkg_config_says(prefix, LD_LIBRARY_PATH=str(folder))
        expect(said, EMULATED)
        check("-lfmt" not in flags, "a shared library's users are to link fmt themselves")


def field(package, name):
    return run("dpkg-deb", "-f", package, name).strip()


def debianPackages():
    need("dpkg-deb", "dpkg-shlibdeps", "dpkg-query", "file", "pkg-config")
    run(CACHE["CMAKE_CPACK_COMMAND"], "-G", "DEB", "--config", BUILD / "CPackConfig.cmake",
        "-B", WORK)
    packages = {field(path, "Package"): path for path in WORK.glob("*.deb")}
    expected = {"libcarillon-dev"} | ({"carillon"} if CACHE["CARILLON_TOOLS"] == "ON" else set())
    if CACHE.get("CARILLON_COMPAT") == "ON":
        expected.add("libcarillon-compat-dev")
    check(packages.keys() == expected, f"packages: {sorted(packages)}")
    prefix = WORK / "root/usr"
    for name, package in packages.items():
        depends = field(package, "Depends")
        # Debian names of the linked libraries: they are installed where this was built.
        run("dpkg-query", "-W", *re.findall(r"[a-z0-9][a-z0-9+.-]+(?=[ ,(]|$)", depends))
        check(field(package, "Maintainer") and "fmt" in depends, f"{name} depends on: {depends}")
        listed = run("dpkg-deb", "-c", package).splitlines()
        check(all(" ./usr" in line or line.endswith(" ./") for line in listed),
              f"{name}: not only /usr")
        run("dpkg-deb", "-x", package, WORK / "root")
    names_no_folder_of_ours(prefix)
    expect(pkg_config_says(prefix)[0], EMULATED)
    expect(find_package_says(prefix, "-DCONSUMER_COMPONENTS=host"), EMULATED)
    if "carillon" in packages:
        run(prefix / "bin/carillon", "info", "--device", "emulated")


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    globals()[sys.argv[1]]()
