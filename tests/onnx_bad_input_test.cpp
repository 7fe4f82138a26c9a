// Hostile and broken ONNX files: each gives one line with the place and a remedy.
#include <gtest/gtest.h>

#include <fstream>

#include "allot/result.h"
#include "command_support.h"
#include "onnx_support.h"

namespace allot {
namespace {

using namespace onnx_test;

Result<GraphFile> readBad(const std::string& bytes, const std::string& file = "bad.onnx") {
  Warnings warnings;
  return readGraph(bytes, file, {}, warnings);
}

// The error must name the file, say what to do, stand on one line and hold all the words.
void expectError(const std::string& bytes, std::initializer_list<const char*> words,
                 const std::string& file = "bad.onnx") {
  const auto result = readBad(bytes, file);
  ASSERT_FALSE(result) << "accepted";
  const Error& error = result.error();
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_EQ(error.file, file);
  EXPECT_FALSE(error.where.empty()) << error.text();
  EXPECT_FALSE(error.remedy.empty()) << error.text();
  EXPECT_EQ(error.text().find('\n'), std::string::npos) << error.text();
  for (const char* word : words)
    EXPECT_NE(error.text().find(word), std::string::npos) << word << " in " << error.text();
}

std::string wrapped(std::uint32_t field, const std::string& bytes) {
  std::string outer;
  protozero::pbf_writer(outer).add_message(field, bytes);
  return outer;
}

TEST(OnnxBadInput, IsNoProtocolBuffer) {
  expectError("", {"no graph"});
  expectError("This is a letter.", {"byte 0"});
  expectError(std::string(100, '\0'), {"byte 0", "not a field"});
  expectError(std::string(100, '\xff'), {"byte"});
  expectError("{\"a\": 1}", {"byte 0", "not a field"});
  expectError("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n", {"git lfs pull"});
}

TEST(OnnxBadInput, CutOffAnywhere) {
  const std::string whole = model(smallNet());
  ASSERT_TRUE(readBad(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    expectError(whole.substr(0, length), {});
  }
}

TEST(OnnxBadInput, AnyByteChanged) {
  const std::string whole = model(smallNet());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\1', '\x7f', '\x80', '\xff'}) {
      std::string changed = whole;
      changed[at] = value;
      const auto result = readBad(changed);
      if (!result) EXPECT_FALSE(result.error().remedy.empty()) << at << ": " << result.error().text();
    }
  }
}

TEST(OnnxBadInput, LengthsBeyondTheFile) {
  // A graph of 2^40 and of 2^63 bytes in a file of some bytes; the low 32 bits of both are 0.
  expectError(std::string("\x08\x08\x3a\x80\x80\x80\x80\x80\x20", 9), {"1099511627776 bytes"});
  expectError(std::string("\x08\x08\x3a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 13),
              {"9223372036854775808 bytes"});
  expectError(std::string("\x08\x08\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 14), {"byte"});
}

TEST(OnnxBadInput, MessagesWithinMessages) {
  std::string type = shapeType(kFloat, {1});
  for (int i = 0; i < 10000; ++i) type = wrapped(4, wrapped(1, type));
  std::string info = wrapped(2, type);
  GraphParts net = smallNet();
  net.inputs.push_back(info);
  expectError(model(net), {"100 deep"});

  std::string body = graph(smallNet());
  for (int i = 0; i < 1000; ++i)
    body =
        graph({.nodes = {node("If", {"x"}, {"y"}, {.attributes = {graphAttribute("then_branch", body)}})}});
  expectError(model(body), {"100 deep"});
}

TEST(OnnxBadInput, Dimensions) {
  GraphParts net = smallNet();
  net.initializers[0] = tensor("w", kFloat, {8, -4});
  expectError(model(net), {"tensor \"w\"", "-4"});
  net.initializers[0] = tensor("w", kFloat, {std::int64_t{1} << 62, 4});
  expectError(model(net), {"tensor \"w\"", "2^60"});
  net.initializers[0] = tensor("w", kFloat, {std::int64_t{1} << 62, std::int64_t{1} << 62});
  expectError(model(net), {"tensor \"w\"", "2^60"});
  net.initializers[0] = tensor("w", kFloat, {8, 4}, std::string(100, 'w'));
  expectError(model(net), {"tensor \"w\"", "100 bytes", "128"});
  net = smallNet();
  net.inputs[0] = valueInfo("x", kFloat, {std::int64_t{1} << 62, 8});
  expectError(model(net), {"2^60"});
  net.inputs[0] = valueInfo("x", kFloat, {-7, 8});
  expectError(model(net), {"-7"});
}

TEST(OnnxBadInput, HugeDimensionsFromTheCommand) {
  GraphParts net{.nodes = {node("Relu", {"x"}, {"y"}, {.name = "relu"})},
                 .inputs = {valueInfo("x", kFloat, {"a", "b"})},
                 .outputs = {valueInfo("y", kFloat, {"a", "b"})}};
  ReadOptions options;
  options.dims = {{"a", std::int64_t{1} << 40}, {"b", std::int64_t{1} << 40}};
  Warnings warnings;
  const auto result = readGraph(model(net), "bad.onnx", options, warnings);
  ASSERT_FALSE(result);
  EXPECT_FALSE(result.error().remedy.empty());
}

TEST(OnnxBadInput, Cycles) {
  GraphParts net{
      .nodes = {node("Add", {"x", "c"}, {"a"}, {.name = "one"}), node("Relu", {"a"}, {"b"}, {.name = "two"}),
                node("Relu", {"b"}, {"c"}, {.name = "three"}), node("Relu", {"c"}, {"y"}, {.name = "out"})},
      .inputs = {valueInfo("x", kFloat, {4})},
      .outputs = {valueInfo("y", kFloat, {4})}};
  expectError(model(net), {"cycle", "one -> two -> three -> one"});
  net.nodes[0] = node("Relu", {"a"}, {"a"}, {.name = "self"});
  expectError(model(net), {"cycle", "self -> self"});
}

TEST(OnnxBadInput, Names) {
  GraphParts net = smallNet();
  net.nodes[1] = node("Add", {"h", "nobody"}, {"s"}, {.name = "bias"});
  expectError(model(net), {"node \"bias\"", "\"nobody\""});
  net = smallNet();
  net.nodes.push_back(node("Relu", {"x"}, {"h"}, {.name = "second"}));
  expectError(model(net), {"node \"second\"", "\"h\"", "node \"product\""});
  net = smallNet();
  net.nodes.push_back(node("Relu", {"x"}, {"w"}, {.name = "second"}));
  expectError(model(net), {"node \"second\"", "\"w\"", "initialiser"});
  net = smallNet();
  net.inputs.push_back(net.inputs[0]);
  expectError(model(net), {"input \"x\"", "twice"});
  net = smallNet();
  net.initializers.push_back(net.initializers[0]);
  expectError(model(net), {"initialiser \"w\"", "twice"});
  net = smallNet();
  net.outputs.push_back(valueInfo("nothing", kFloat, {1}));
  expectError(model(net), {"output \"nothing\""});
  net = smallNet();
  net.nodes[0] = node("", {"x", "w"}, {"h"}, {.name = "blank"});
  expectError(model(net), {"node \"blank\"", "no operator"});
  net = smallNet();
  net.nodes[0] = node("MatMul", {"x", "w"}, {"h"}, {.name = "\xff\xfe"});
  expectError(model(net), {"UTF-8"});
  net = smallNet();
  net.nodes[0] = node("Mat\nMul", {"x", "nobody\n"}, {"h"}, {.name = "two\nlines"});
  expectError(model(net), {"two lines"});
}

TEST(OnnxBadInput, InsideABody) {
  const std::string branch = graph(
      {.nodes = {node("Neg", {"nobody"}, {"o"}, {.name = "neg"})}, .outputs = {valueInfo("o", kFloat, {4})}});
  GraphParts net{.nodes = {node("If", {"flag"}, {"y"},
                                {.name = "choice",
                                 .attributes = {graphAttribute("then_branch", branch),
                                                graphAttribute("else_branch", branch)}})},
                 .inputs = {valueInfo("flag", kBool, {})},
                 .outputs = {valueInfo("y", kFloat, {4})}};
  expectError(model(net), {"node \"choice\"", "\"nobody\""});
}

TEST(OnnxBadInput, NothingToRun) {
  GraphParts net{.nodes = {node("Relu", {"w"}, {"y"})},
                 .initializers = {tensor("w", kFloat, {4})},
                 .outputs = {valueInfo("y", kFloat, {4})}};
  expectError(model(net), {"no op is left"});
  net = smallNet();
  net.outputs.clear();
  expectError(model(net), {"no op is left"});
}

TEST(OnnxBadInput, VersionsOfOperators) {
  expectError(model(graph(smallNet()), {}, 0), {"opset_import"});
  expectError(model(graph(smallNet()), {}, -3), {"opset_import"});
  std::string none;
  protozero::pbf_writer writer(none);
  writer.add_int64(1, 8);
  writer.add_message(7, graph(smallNet()));
  expectError(none, {"opset_import"});
}

class OnnxExternal : public CommandTest {
 protected:
  // The small net with its weight in a file of 200 bytes.
  std::string net(const std::vector<std::pair<std::string, std::string>>& entries) {
    save("weights.bin", std::string(200, 'w'));
    GraphParts parts = smallNet();
    parts.initializers[0] = externalTensor("w", kFloat, {8, 4}, entries);
    return model(parts);
  }
  std::string file() const { return (folder / "model.onnx").string(); }
};

TEST_F(OnnxExternal, DataBesideTheModel) {
  for (const auto& entries : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {{"location", "weights.bin"}},
           {{"location", "./weights.bin"}, {"offset", "72"}, {"length", "128"}},
           {{"location", "weights.bin"}, {"offset", "0"}, {"checksum", "none"}}}) {
    const auto result = readBad(net(entries), file());
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(weightsOf(result->graph, "product"), 128);
  }
}

TEST_F(OnnxExternal, BeyondTheFile) {
  expectError(net({{"location", "weights.bin"}, {"offset", "73"}}), {"tensor \"w\"", "byte 201", "200"},
              file());
  expectError(net({{"location", "weights.bin"}, {"offset", "9223372036854775807"}}), {"tensor \"w\""},
              file());
  expectError(net({{"location", "weights.bin"}, {"offset", "99999999999999999999"}}), {"offset"}, file());
  expectError(net({{"location", "weights.bin"}, {"offset", "-1"}}), {"offset \"-1\""}, file());
  expectError(net({{"location", "weights.bin"}, {"length", "12"}}), {"12 bytes", "128"}, file());
  expectError(net({{"location", "weights.bin"}, {"length", "x"}}), {"length \"x\""}, file());
}

TEST_F(OnnxExternal, FilesThatAreNotThere) {
  expectError(net({{"location", "other.bin"}}), {"tensor \"w\"", "other.bin", "put the file beside"}, file());
  expectError(net({}), {"tensor \"w\"", "not named"}, file());
  std::filesystem::create_directory(folder / "sub");
  expectError(net({{"location", "sub"}}), {"no plain file"}, file());
}

TEST_F(OnnxExternal, PathsOutsideTheFolderAreRefused) {
  std::filesystem::create_directory(folder / "sub");
  const std::string inside = (folder / "sub" / "model.onnx").string();
  for (const std::string& location : {std::string("../weights.bin"), std::string("a/../../weights.bin"),
                                      (folder / "weights.bin").string(), std::string("/etc/passwd")})
    expectError(net({{"location", location}}), {"tensor \"w\"", "outside the model's folder"}, inside);
}

TEST_F(OnnxExternal, PathsWithDotsAreRefused) {
  std::filesystem::create_directory(folder / "sub");
  for (const char* location : {"sub/../weights.bin", "./sub/../weights.bin", "sub/.."})
    expectError(net({{"location", location}}), {"tensor \"w\"", location, "without .."}, file());
  EXPECT_TRUE(readBad(net({{"location", "./weights.bin"}}), file()));
}

TEST_F(OnnxExternal, LinksOutOfTheFolderAreRefused) {
  namespace fs = std::filesystem;
  fs::create_directories(folder / "model" / "sub");
  fs::create_symlink("../weights.bin", folder / "model" / "link.bin");
  fs::create_directory_symlink("..", folder / "model" / "up");
  const std::string inside = (folder / "model" / "model.onnx").string();
  for (const char* location : {"link.bin", "up/weights.bin"})
    expectError(net({{"location", location}}),
                {"tensor \"w\"", location, "outside the model's folder", "copy the file"}, inside);
  // A link that stays inside is as good as a file.
  fs::copy_file(folder / "weights.bin", folder / "model" / "sub" / "weights.bin");
  fs::create_symlink("sub/weights.bin", folder / "model" / "near.bin");
  EXPECT_TRUE(readBad(net({{"location", "near.bin"}}), inside));
}

// Caches keep files by content and link a model and its data there.
TEST_F(OnnxExternal, ALinkedModelHasItsDataBesideItself) {
  namespace fs = std::filesystem;
  fs::create_directory(folder / "snapshot");
  const std::string bytes = net({{"location", "data.bin"}});
  save("blob", bytes);
  fs::create_symlink("../blob", folder / "snapshot" / "model.onnx");
  fs::create_symlink("../weights.bin", folder / "snapshot" / "data.bin");
  const auto result = readBad(bytes, (folder / "snapshot" / "model.onnx").string());
  EXPECT_TRUE(result) << result.error().text();
}

TEST_F(OnnxExternal, SmallIntegersAreRead) {
  std::string shape(16, '\0');
  shape[0] = 4;
  shape[8] = 2;
  save("shape.bin", "xx" + shape);
  GraphParts parts{
      .nodes = {node("Reshape", {"x", "shape"}, {"y"}, {.name = "reshape"}),
                node("Relu", {"y"}, {"z"}, {.name = "relu"})},
      .initializers = {externalTensor("shape", kInt64, {2}, {{"location", "shape.bin"}, {"offset", "2"}})},
      .inputs = {valueInfo("x", kFloat, {8})},
      .outputs = {valueInfo("z", kFloat, {4, 2})}};
  const auto result = readBad(model(parts), file());
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(bytesBetween(result->graph, "reshape", "relu"), 32);
}

}  // namespace
}  // namespace allot
