// The tables and the JSON of a report. The four headline numbers are of the first number of threads and context.
#include "inkstone/bench_report.h"

#include <cstdarg>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace inkstone::app {
namespace {

using Json = nlohmann::ordered_json;
using runtime::BenchFormat;
using runtime::BenchReport;
using runtime::BenchRun;
using runtime::BenchWork;
using runtime::MachineSpeed;
using runtime::MachineThreads;

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
    char buffer[256];
    va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(buffer, sizeof buffer, pattern, arguments);
    va_end(arguments);
    return buffer;
}

double tokens_per_s(const BenchWork& prefill) { return static_cast<double>(prefill.count) * prefill.per_second(); }

// Decoding gives one token a run, all else `count` of its rows.
double rows_per_s(const BenchWork& work) { return work.bytes > 0 ? work.per_second() : tokens_per_s(work); }

std::string stage_text(const BenchWork& work) {
    std::string text;
    for (const runtime::StageTime& stage : work.stages)
        text += format("%s%s %.1f %%", text.empty() ? "" : ", ", stage.name.c_str(), 100 * stage.ms / work.median_ms);
    return text;
}

std::string work_text(const char* what, const std::string& subject, const char* rows, const BenchWork& work) {
    const bool reads = work.bytes > 0;
    const std::string rate = *rows == '\0' ? "" : format("%.1f %s/s", rows_per_s(work), rows);
    std::string text =
        format("  %-8s %-22s %10.2f ms %18s %8.1f %s %5.1f %% of %.1f (%.1f before, %.1f after)\n", what,
               subject.c_str(), work.median_ms, rate.c_str(), work.speed(), reads ? "GB/s   " : "GFLOP/s",
               100 * work.share(), work.limit.median, work.limit_before, work.limit_after);
    if (!work.stages.empty()) text += "           " + stage_text(work) + "\n";
    return text;
}

Json speed_json(const MachineSpeed& speed) {
    return {{"best", speed.best}, {"median", speed.median}, {"samples", speed.samples}};
}

Json work_json(int threads, const char* count_name, const BenchWork& work) {
    Json stages = Json::object();
    for (const runtime::StageTime& stage : work.stages) stages[stage.name] = stage.ms;
    Json limit = speed_json(work.limit);
    limit["before"] = work.limit_before;
    limit["after"] = work.limit_after;
    Json json{{"threads", threads}};
    if (!work.what.empty()) json["picture"] = work.what;
    json[count_name] = work.count;
    json["repeats"] = work.repeats;
    json["median_ms"] = work.median_ms;
    json["best_ms"] = work.best_ms;
    json["operations"] = work.operations;
    if (work.bytes > 0) {
        json["bytes"] = work.bytes;
        json["tokens_per_s"] = rows_per_s(work);
        json["gb_per_s"] = work.speed();
        json["bandwidth_share"] = work.share();
        json["bandwidth_gb_per_s"] = limit;
    } else {
        if (!work.stages.empty()) json["rows_per_s"] = rows_per_s(work);  // products are of several shapes
        json["gflop_per_s"] = work.speed();
        json["peak_share"] = work.share();
        json["peak_gflop_per_s"] = limit;
    }
    if (!work.stages.empty()) json["stages_ms"] = stages;
    return json;
}

Json machine_json(const BenchReport& report) {
    Json machine{{"processor", report.processor},
                 {"cores", report.cores},
                 {"instruction_set", report.instruction_set},
                 {"limits", Json::array()}};
    for (const MachineThreads& threads : report.machine) {
        Json arithmetic = Json::object();
        for (const runtime::ArithmeticSpeed& speed : threads.arithmetic) {
            arithmetic[speed.name] = speed_json(speed.speed);
            arithmetic[speed.name]["instruction"] = speed.instruction;
        }
        Json reading = speed_json(threads.reading);
        reading["pattern"] = threads.pattern;
        machine["limits"].push_back(
            {{"threads", threads.threads}, {"bandwidth_gb_per_s", reading}, {"arithmetic_gop_per_s", arithmetic}});
    }
    return machine;
}

Json format_json(const BenchFormat& bench_format) {
    const BenchRun& first = bench_format.runs.front();
    const auto number = [](const std::vector<BenchWork>& works, auto value) {
        return works.empty() ? Json() : Json(value(works.front()));
    };
    Json json{{"decode_tokens_per_s", number(first.decode, rows_per_s)},
              {"decode_bandwidth_share", number(first.decode, [](const BenchWork& work) { return work.share(); })},
              {"prefill_tokens_per_s", number(first.prefill, rows_per_s)},
              {"gemm_peak_share", first.products.share()},
              {"instruction", bench_format.arithmetic},
              {"weights", bench_format.weights},
              {"weight_bytes", bench_format.weight_bytes},
              {"token_weight_bytes", bench_format.token_weight_bytes},
              {"position_bytes", bench_format.position_bytes}};
    for (const char* part : {"products", "vision", "prefill", "decode"}) json[part] = Json::array();
    for (const BenchRun& run : bench_format.runs) {
        json["products"].push_back(work_json(run.threads, "rows", run.products));
        for (const BenchWork& work : run.vision) json["vision"].push_back(work_json(run.threads, "patches", work));
        for (const BenchWork& work : run.prefill) json["prefill"].push_back(work_json(run.threads, "tokens", work));
        for (const BenchWork& work : run.decode) json["decode"].push_back(work_json(run.threads, "context", work));
    }
    return json;
}

}  // namespace

std::string bench_text(const BenchReport& report) {
    std::string text =
        report.model + "\n" + report.processor + format(", %d cores, ", report.cores) + report.instruction_set + "\n";
    for (const MachineThreads& machine : report.machine) {
        text += format("\nmachine, %d threads\n  reads    %8.1f GB/s, median %.1f (", machine.threads,
                       machine.reading.best, machine.reading.median) +
                machine.pattern + ")\n";
        for (const runtime::ArithmeticSpeed& speed : machine.arithmetic)
            text += format("  %-8s %8.1f Gop/s, median %.1f (%s)\n", speed.name.c_str(), speed.speed.best,
                           speed.speed.median, speed.instruction.c_str());
    }
    for (const BenchFormat& bench_format : report.formats) {
        text += "\n" + bench_format.name +
                format(": weights %s, %.1f MiB; a token reads %.1f MiB of them and %.1f KiB a position\n",
                       bench_format.weights.c_str(), static_cast<double>(bench_format.weight_bytes) / (1 << 20),
                       static_cast<double>(bench_format.token_weight_bytes) / (1 << 20),
                       static_cast<double>(bench_format.position_bytes) / (1 << 10));
        for (const BenchRun& run : bench_format.runs) {
            text += format("%d threads\n", run.threads);
            text += work_text("products", std::to_string(run.products.count) + " rows", "", run.products);
            for (const BenchWork& work : run.vision)
                text +=
                    work_text("vision", work.what + ", " + std::to_string(work.count) + " patches", "patches", work);
            for (const BenchWork& work : run.prefill)
                text += work_text("prefill", std::to_string(work.count) + " tokens", "tokens", work);
            for (const BenchWork& work : run.decode)
                text += work_text("decode", "after " + std::to_string(work.count), "tokens", work);
        }
    }
    return text;
}

std::string bench_json(const BenchReport& report) {
    Json json{{"machine", machine_json(report)}, {"formats", Json::object()}};
    if (!report.model.empty()) json["model"] = report.model;
    for (const BenchFormat& bench_format : report.formats)
        json["formats"][bench_format.name] = format_json(bench_format);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace inkstone::app
