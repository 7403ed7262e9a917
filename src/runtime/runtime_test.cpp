// The public face: every way to give a picture, batches, tasks, threads and what a moved-from runtime does.
#include "hunyuan_ocr/runtime.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <thread>

#include "hunyuan_ocr/check.h"
#include "image/decode.h"

namespace hunyuan_ocr {
namespace {

const std::filesystem::path kRoot = INKSTONE_SOURCE_DIR;
const std::filesystem::path kTiny = kRoot / "tests/data/tiny";
const std::filesystem::path kNano = kRoot / "models/nano";
const std::filesystem::path kPicture = kRoot / "tests/data/pictures/square.png";

Runtime load(const std::filesystem::path& folder = kTiny) {
    RuntimeOptions options;
    options.threads = 1;
    return Runtime(folder, options);
}

GenerationOptions tokens(int max_new_tokens) {
    GenerationOptions options;
    options.max_new_tokens = max_new_tokens;
    return options;
}

// The error that a call throws.
template <class Call>
Error error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return {ErrorCode::internal, "", "", ""};
}

TEST(Runtime, EveryFormOfAPictureGivesTheSameIds) {
    Runtime runtime = load();
    const auto expected = runtime.recognize(Image::file(kPicture), text("text"), tokens(12));
    EXPECT_EQ(expected.tokens.size(), 12U);
    EXPECT_EQ(expected.image.width, 100);
    EXPECT_EQ(expected.image.resized_width, 96);
    EXPECT_EQ(expected.image.visual_tokens, 14);
    EXPECT_EQ(expected.finish_reason, FinishReason::length);
    EXPECT_EQ(expected.state.sequence_length, expected.profile.prompt_tokens + 12);

    std::ifstream stream(kPicture, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_EQ(runtime.recognize(Image::encoded(std::as_bytes(std::span(bytes))), text("text"), tokens(12)).tokens,
              expected.tokens);

    const auto rgb = *inkstone::image::decode_file(kPicture);
    struct Form {
        PixelFormat format;
        std::vector<int> channels;  // which of red, green, blue, opaque stands where
    };
    for (const Form& form : {Form{PixelFormat::rgb, {0, 1, 2}}, Form{PixelFormat::bgr, {2, 1, 0}},
                             Form{PixelFormat::rgba, {0, 1, 2, 3}}, Form{PixelFormat::bgra, {2, 1, 0, 3}}})
        for (const int padding : {0, 5}) {
            const std::size_t stride = static_cast<std::size_t>(rgb.width) * form.channels.size() + padding;
            std::vector<std::uint8_t> pixels(stride * rgb.height, 0xAA);
            for (int y = 0; y < rgb.height; ++y)
                for (int x = 0; x < rgb.width; ++x)
                    for (std::size_t c = 0; c < form.channels.size(); ++c)
                        pixels[y * stride + x * form.channels.size() + c] =
                            form.channels[c] == 3 ? 255 : rgb.row(y)[x * 3 + form.channels[c]];
            const auto image = Image::pixels(pixels.data(), rgb.width, rgb.height, form.format,
                                             padding == 0 ? 0 : static_cast<std::ptrdiff_t>(stride));
            EXPECT_EQ(runtime.recognize(image, text("text"), tokens(12)).tokens, expected.tokens);
        }

    // A grey picture is the same as red, green and blue alike.
    std::vector<std::uint8_t> gray(100 * 80), alike;
    for (std::size_t i = 0; i < gray.size(); ++i) gray[i] = static_cast<std::uint8_t>(i * 7);
    for (const std::uint8_t value : gray) alike.insert(alike.end(), 3, value);
    EXPECT_EQ(runtime.recognize(Image::pixels(gray.data(), 100, 80, PixelFormat::gray), text("text"), tokens(8)).tokens,
              runtime.recognize(Image::pixels(alike.data(), 100, 80), text("text"), tokens(8)).tokens);
    EXPECT_EQ(error_of([&] { runtime.recognize(Image::pixels(nullptr, 10, 10)); }).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error_of([&] { runtime.recognize(Image::pixels(gray.data(), -1, 10)); }).code(),
              ErrorCode::invalid_argument);
}

TEST(Runtime, TextComesInPiecesThatAreTheWhole) {
    Runtime runtime = load(kNano);
    std::string heard;
    const auto result = runtime.recognize(Image::file(kRoot / "tests/data/pictures/text_wide.png"), {}, {},
                                          [&](std::string_view piece) {
                                              heard += piece;
                                              return true;
                                          });
    EXPECT_NE(result.text.find('\n'), std::string::npos);
    EXPECT_EQ(heard, result.text);
}

// The lines of text_wide.png, in its 440 x 90 pixels: both lines begin 12 pixels from the left.
TEST(Boxes, AreInPixelsOfThePictureAsDisplayed) {
    Runtime runtime = load(kNano);
    const auto read = [&](const char* name) {
        return runtime.recognize(Image::file(kRoot / "tests/data/pictures" / name), task("spotting_hunyuan"));
    };
    const auto upright = read("text_wide.png"), turned = read("text_turned.png");
    ASSERT_EQ(upright.boxes.size(), 2U);
    EXPECT_EQ(upright.boxes[0].text, "Please return this form before");
    EXPECT_EQ(upright.boxes[1].text, "the end of the month.");
    for (const Box& box : upright.boxes) {
        EXPECT_NE(upright.text.find(box.text + "(" + std::to_string(box.normalized.left) + "," +
                                    std::to_string(box.normalized.top) + "),(" + std::to_string(box.normalized.right) +
                                    "," + std::to_string(box.normalized.bottom) + ")"),
                  std::string::npos);
        EXPECT_NEAR(box.pixels.left, 12, 4);
        EXPECT_EQ(box.pixels.right, box.normalized.right * 440 / 1000);
        EXPECT_EQ(box.pixels.bottom, box.normalized.bottom * 90 / 1000);
        EXPECT_TRUE(box.normalized_corners.empty() && box.label.empty());
    }

    // The same picture from a file of 90 x 440 pixels that is to be turned for display.
    EXPECT_EQ(inkstone::image::decode_file(kRoot / "tests/data/pictures/text_turned.png")->width, 440);
    EXPECT_EQ(turned.text, upright.text);
    ASSERT_EQ(turned.boxes.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(turned.boxes[i].pixels.right, upright.boxes[i].pixels.right);
        EXPECT_EQ(turned.boxes[i].pixels.bottom, upright.boxes[i].pixels.bottom);
        EXPECT_GT(turned.boxes[i].pixels.right, 90);
    }
}

TEST(Boxes, OnlyWhereTheRequestMayHaveThem) {
    Runtime runtime = load(kNano);
    const Image image = Image::file(kRoot / "tests/data/pictures/text_label.png");
    const std::string words =
        "Detect and recognize text in the image, and output the text coordinates in a formatted manner.";
    EXPECT_EQ(runtime.recognize(image, text(words)).boxes.size(), 1U);
    const auto plain = runtime.recognize(image, task("structured_parse"));
    EXPECT_FALSE(plain.text.empty());
    EXPECT_TRUE(plain.boxes.empty());
    // Of two pictures the numbers do not say which they are of.
    const Image two[] = {image, image};
    EXPECT_TRUE(runtime.recognize(two, task("spotting_hunyuan")).boxes.empty());
}

TEST(Runtime, ABatchGoesOnPastABadPage) {
    Runtime runtime = load();
    const std::byte rubbish[] = {std::byte{1}, std::byte{2}, std::byte{3}};
    const Image pages[] = {Image::file(kPicture), Image::encoded(rubbish), Image::file("nowhere.png"),
                           Image::file(kPicture)};
    const auto items = runtime.recognize_batch(pages, text("text"), tokens(6));
    ASSERT_EQ(items.size(), 4U);
    ASSERT_TRUE(items[0].result && items[3].result);
    EXPECT_EQ(items[0].result->tokens, items[3].result->tokens);
    EXPECT_FALSE(items[1].result.has_value());
    EXPECT_TRUE(items[1].error.has_value());
    EXPECT_EQ(items[2].error->code(), ErrorCode::not_found);
    const CancelToken cancel{true};
    GenerationOptions cancelled = tokens(6);
    cancelled.cancel = &cancel;
    EXPECT_EQ(error_of([&] { (void)runtime.recognize_batch(pages, text("text"), cancelled); }).code(),
              ErrorCode::cancelled);
}

// The token is looked at from the first byte of a picture on, not only once the model computes.
TEST(Runtime, StopsWhileAPictureIsMadeReady) {
    Runtime runtime = load();
    CancelToken cancel{true};
    GenerationOptions options = tokens(6);
    options.cancel = &cancel;
    const Error decoding = error_of([&] { runtime.recognize(Image::file(kPicture), text("text"), options); });
    EXPECT_EQ(decoding.code(), ErrorCode::cancelled);
    EXPECT_EQ(decoding.stage(), "decode image");
    const std::vector<std::uint8_t> gray(100 * 90);
    const Image pixels = Image::pixels(gray.data(), 100, 90, PixelFormat::gray);
    EXPECT_EQ(error_of([&] { runtime.recognize(pixels, text("text"), options); }).code(), ErrorCode::cancelled);
    // The estimate comes between decoding and resizing.
    cancel = false;
    options.on_estimate = [&](const Estimate&) { cancel = true; };
    const Error resizing = error_of([&] { runtime.recognize(pixels, text("text"), options); });
    EXPECT_EQ(resizing.code(), ErrorCode::cancelled);
    EXPECT_EQ(resizing.stage(), "image");  // the resized picture's pixels
    cancel = false;
    options.on_estimate = {};
    EXPECT_EQ(runtime.recognize(pixels, text("text"), options).tokens.size(), 6U);
}

TEST(Runtime, PrefillGeneratesNothing) {
    Runtime runtime = load();
    const Profile profile = runtime.prefill(Image::file(kPicture), text("text"));
    EXPECT_EQ(profile.generated_tokens, 0);
    EXPECT_EQ(profile.visual_tokens, 14);
    EXPECT_GT(profile.prompt_tokens, 16);
    EXPECT_GT(profile.vision_ms, 0);
    EXPECT_GT(profile.prefill_ms, 0);
    EXPECT_EQ(profile.decode_ms, 0);
}

TEST(Runtime, Tasks) {
    Runtime tiny = load(), nano = load(kNano);
    EXPECT_EQ(tiny.tasks().size(), 12U);
    EXPECT_EQ(tiny.tasks().front(), "doc_parse");
    EXPECT_EQ(nano.tasks(), (std::vector<std::string>{"structured_parse", "spotting_hunyuan"}));
    const Error error = error_of([&] { nano.recognize(Image::file(kPicture), task("formula")); });
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_NE(std::string(error.what()).find("structured_parse, spotting_hunyuan"), std::string::npos);
    Prompt both = task("doc_parse");
    both.text = "text";
    EXPECT_EQ(error_of([&] { tiny.recognize(Image::file(kPicture), both); }).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(tiny.recognize(Image::file(kPicture), {}, tokens(4)).tokens,
              tiny.recognize(Image::file(kPicture), task("doc_parse"), tokens(4)).tokens);
}

TEST(Runtime, OptionsOutOfRangeAreNamed) {
    Runtime runtime = load();
    GenerationOptions options = tokens(-1);
    EXPECT_EQ(error_of([&] { runtime.recognize(Image::file(kPicture), {}, options); }).subject(), "max_new_tokens");
    options = tokens(1);
    for (const float penalty : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN(), 1e9F}) {
        options.repetition_penalty = penalty;
        EXPECT_EQ(error_of([&] { runtime.recognize(Image::file(kPicture), {}, options); }).subject(),
                  "repetition_penalty");
    }
    for (const auto& [change, subject] : std::initializer_list<std::pair<void (*)(RuntimeOptions&), const char*>>{
             {[](RuntimeOptions& o) { o.threads = -1; }, "threads"},
             {[](RuntimeOptions& o) { o.threads = 100000; }, "threads"},
             {[](RuntimeOptions& o) { o.min_pixels = -1; }, "min_pixels"},
             {[](RuntimeOptions& o) { o.max_pixels = -1; }, "max_pixels"},
             {[](RuntimeOptions& o) { o.min_pixels = 9000, o.max_pixels = 8000; }, "min_pixels"},
             {[](RuntimeOptions& o) { o.memory_limit_bytes = 1; }, "memory_limit"}}) {
        RuntimeOptions runtime_options;
        change(runtime_options);
        EXPECT_EQ(error_of([&] { Runtime broken(kTiny, runtime_options); }).subject(), subject);
    }
    const CancelToken cancel{true};
    RuntimeOptions cancelled;
    cancelled.cancel = &cancel;
    EXPECT_EQ(error_of([&] { Runtime broken(kTiny, cancelled); }).code(), ErrorCode::cancelled);
}

TEST(Runtime, ThreadsTakeTurns) {
    Runtime runtime = load();
    const Image first = Image::file(kPicture), second = Image::file(kRoot / "tests/data/pictures/wide.png");
    const auto expected_first = runtime.recognize(first, text("a"), tokens(10)).tokens;
    const auto expected_second = runtime.recognize(second, text("b"), tokens(10)).tokens;
    std::thread other([&] {
        for (int i = 0; i < 5; ++i) EXPECT_EQ(runtime.recognize(second, text("b"), tokens(10)).tokens, expected_second);
    });
    for (int i = 0; i < 5; ++i) EXPECT_EQ(runtime.recognize(first, text("a"), tokens(10)).tokens, expected_first);
    other.join();
}

TEST(Runtime, AMovedFromRuntimeThrowsAndCanBeAssignedTo) {
    Runtime runtime = load();
    Runtime taken = std::move(runtime);
    EXPECT_EQ(error_of([&] { runtime.recognize(Image::file(kPicture)); }).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error_of([&] { (void)runtime.tasks(); }).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error_of([&] { (void)runtime.load_report(); }).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error_of([&] { (void)runtime.max_pixels(); }).code(), ErrorCode::invalid_argument);
    runtime = std::move(taken);
    EXPECT_EQ(runtime.recognize(Image::file(kPicture), {}, tokens(3)).tokens.size(), 3U);
}

TEST(Runtime, AnExceptionOfACallbackPassesThroughAndHarmsNothing) {
    Runtime runtime = load();
    const auto expected = runtime.recognize(Image::file(kPicture), {}, tokens(5)).tokens;
    EXPECT_THROW(runtime.recognize(Image::file(kPicture), {}, tokens(5),
                                   [](std::string_view) -> bool { throw std::logic_error("stop"); }),
                 std::logic_error);
    EXPECT_EQ(runtime.recognize(Image::file(kPicture), {}, tokens(5)).tokens, expected);
}

// Runs `work` on a thread with a stack of this size; returns how many bytes of it were touched.
std::size_t stack_used(std::size_t stack_bytes, const std::function<void()>& work) {
    constexpr unsigned char kPaint = 0xA5;
    void* const memory =
        ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return 0;
    auto* const lowest = static_cast<unsigned char*>(memory);
    std::fill_n(lowest, stack_bytes, kPaint);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory, stack_bytes);
    pthread_t thread{};
    const auto call = [](void* context) -> void* {
        (*static_cast<const std::function<void()>*>(context))();
        return nullptr;
    };
    EXPECT_EQ(pthread_create(&thread, &attributes, call, const_cast<std::function<void()>*>(&work)), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    const auto* touched = std::find_if(lowest, lowest + stack_bytes, [](unsigned char b) { return b != kPaint; });
    const auto used = static_cast<std::size_t>(lowest + stack_bytes - touched);
    ::munmap(memory, stack_bytes);
    return used;
}

TEST(Stack, EverythingFitsIntoWhatIsPromised) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "instrumented frames are larger";
#endif
    constexpr std::size_t kStack = std::size_t{4} << 20;
    for (const InstructionSet set : {InstructionSet::reference, InstructionSet::portable, InstructionSet::automatic}) {
        const std::size_t used = stack_used(kStack, [set] {
            RuntimeOptions options;
            options.threads = 1;  // the calling thread takes every chunk
            options.instruction_set = set;
            Runtime runtime(kTiny, options);
            EXPECT_EQ(runtime.recognize(Image::file(kPicture), text("text"), tokens(4)).tokens.size(), 4U);
        });
        RecordProperty("stack_bytes_" + std::to_string(static_cast<int>(set)), std::to_string(used));
        EXPECT_GT(used, std::size_t{16} << 10);
        EXPECT_LT(used, kNeededStackBytes / 4 * 3) << "instruction set " << static_cast<int>(set);
    }
    // Every kind of picture, whole or not, and a check of a package.
    const std::size_t used = stack_used(kStack, [] {
        for (const auto& entry : std::filesystem::directory_iterator(kRoot / "tests/golden/image"))
            if (entry.is_regular_file()) (void)inkstone::image::decode_file(entry.path());
        RuntimeOptions options;
        options.threads = 1;
        EXPECT_TRUE(check(kTiny, options).passed());
    });
    EXPECT_LT(used, kNeededStackBytes / 4 * 3);
}

TEST(Stack, TooLittleIsRefusedInASentence) {
    std::optional<Error> error;
    Runtime runtime = load();
    const auto refused = [&](const std::function<void()>& call) {
        error.reset();
        stack_used(std::size_t{128} << 10, [&] {
            try {
                call();
            } catch (const Error& thrown) {
                error = thrown;
            }
        });
        ASSERT_TRUE(error.has_value());
        EXPECT_EQ(error->code(), ErrorCode::out_of_memory);
        EXPECT_NE(error->message().find("256 KiB"), std::string::npos) << error->what();
    };
    refused([] { load(); });
    refused([&] { runtime.recognize(Image::file(kPicture), text("text"), tokens(1)); });
    refused([&] { runtime.prefill(Image::file(kPicture), text("text")); });
    refused([] { (void)check(kTiny); });
}

}  // namespace
}  // namespace hunyuan_ocr
