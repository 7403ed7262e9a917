// Reads one picture with the installed library and the installed small model, as a program that embeds it would.
#include <hunyuan_ocr/runtime.h>

#include <iostream>

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: read_picture PICTURE\n";
        return 2;
    }
    try {
        hunyuan_ocr::Runtime runtime(MODELS_DIR "/nano");
        const auto result =
            runtime.recognize(hunyuan_ocr::Image::file(arguments[1]), hunyuan_ocr::task("structured_parse"));
        std::cout << result.text << '\n';
        return result.text.empty() ? 1 : 0;
    } catch (const hunyuan_ocr::Error& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
