// What a page needs and took, as text.
#include "hunyuan_ocr/report.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace inkstone::app {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
    char buffer[256];
    va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(buffer, sizeof buffer, pattern, arguments);
    va_end(arguments);
    return buffer;
}

std::string speed_text(const char* what, std::int64_t tokens, double ms) {
    std::string text = format("  %-13s %9.1f ms  %lld tokens", what, ms, static_cast<long long>(tokens));
    if (tokens > 0 && ms > 0) text += format(", %.1f tokens/s", 1000.0 * static_cast<double>(tokens) / ms);
    return text + "\n";
}

// What the draft was worth, and whether the strategy kept it back.
std::string strategy_text(const hunyuan_ocr::Profile& profile) {
    const auto count = [](std::int64_t value) { return static_cast<long long>(value); };
    std::string text = format("  %-13s %9.1f ms draft, %.1f ms verification; proposed %lld, accepted %lld (%.0f %%)\n",
                              profile.strategy.c_str(), profile.draft_ms, profile.verify_ms, count(profile.proposed),
                              count(profile.accepted),
                              100.0 * static_cast<double>(profile.accepted) /
                                  static_cast<double>(std::max<std::int64_t>(profile.proposed, 1)));
    text += format("                emitted %lld tokens in %lld blocks", count(profile.emitted), count(profile.blocks));
    if (profile.withheld > 0)
        text += format("; off for %lld blocks: a draft would not have paid", count(profile.withheld));
    return text + "\n";
}

double peak_resident_mebibytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024.0;  // Linux counts it in KiB
}

}  // namespace

std::string estimate_text(std::string_view name, const hunyuan_ocr::Estimate& estimate) {
    const auto mebibytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / kMebibyte; };
    return std::string(name) +
           format(": needs %.1f MiB: weights %.1f, keys and values %.1f, activations %.1f, vision %.1f\n",
                  mebibytes(estimate.total_bytes()), mebibytes(estimate.weight_bytes), mebibytes(estimate.cache_bytes),
                  mebibytes(estimate.activation_bytes), mebibytes(estimate.vision_bytes)) +
           format("  about %.1f s until the first token (vision %.1f s, prefill %.1f s), then %.1f ms a token\n",
                  (estimate.vision_ms + estimate.prefill_ms) / 1000, estimate.vision_ms / 1000,
                  estimate.prefill_ms / 1000, estimate.token_ms);
}

std::string memory_text(const hunyuan_ocr::Profile& profile) {
    return format("weights %.1f MiB, cache %.1f MiB, activations %.1f MiB, peak resident %.1f MiB",
                  static_cast<double>(profile.weight_bytes) / kMebibyte,
                  static_cast<double>(profile.cache_bytes) / kMebibyte,
                  static_cast<double>(profile.activation_bytes) / kMebibyte, peak_resident_mebibytes());
}

std::string statistics_text(std::string_view name, const hunyuan_ocr::Result& result) {
    const hunyuan_ocr::ImageInfo& image = result.image;
    const hunyuan_ocr::Profile& profile = result.profile;
    std::string text =
        std::string(name) + ": " +
        format("%dx%d pixels read at %dx%d, grid %dx%d, %d visual tokens\n", image.width, image.height,
               image.resized_width, image.resized_height, image.grid_height, image.grid_width, image.visual_tokens);
    const auto stage = [&](const char* what, double ms) { text += format("  %-13s %9.1f ms\n", what, ms); };
    stage("decode image", profile.decode_image_ms);
    stage("preprocess", profile.preprocess_ms);
    stage("vision", profile.vision_ms);
    stage("embed", profile.embed_ms);
    text += speed_text("prefill", profile.prompt_tokens, profile.prefill_ms);
    text += speed_text("decode", profile.generated_tokens, profile.decode_ms);
    if (profile.strategy != "ar") text += strategy_text(profile);
    stage("LM head", profile.lm_head_ms);
    stage("sample", profile.sample_ms);
    stage("detokenize", profile.detokenize_ms);
    stage("total", profile.total_ms);
    if (result.options.do_sample)
        text += format("  drawn with    temperature %g, top-k %d, top-p %g, min-p %g, tfs %g, typical %g, seed %llu\n",
                       static_cast<double>(result.options.temperature), result.options.top_k,
                       static_cast<double>(result.options.top_p), static_cast<double>(result.options.min_p),
                       static_cast<double>(result.options.tfs), static_cast<double>(result.options.typical),
                       static_cast<unsigned long long>(result.options.seed));
    text += "  memory        " + memory_text(profile) + "\n";
    text += "  ran on        " + profile.backend + " (" + profile.instruction_set + "), " +
            std::to_string(profile.threads) + " threads; vision " + profile.vision_precision + ", decoder " +
            profile.decoder_precision + ", head " + profile.head_precision + ", keys and values " +
            profile.kv_precision + "\n";
    return text;
}

}  // namespace inkstone::app
