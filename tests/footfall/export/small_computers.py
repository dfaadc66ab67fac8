"""What a bare Cortex-M7 lacks of C: a start, the few functions of <math.h>, and printf by semihosting."""

import struct

MATH = """#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_inf()
#define sqrt __builtin_sqrt
#define sqrtf __builtin_sqrtf
#define fabs __builtin_fabs
#define fabsf __builtin_fabsf
#define floor __builtin_floor
#define floorf __builtin_floorf
"""
# the test program prints one number: here as a whole number of 1e-15
STDIO = """int printf(const char *format, double worst);
"""
START = """#include <stdio.h>
int main(void);
void begin(void);
extern char stack_top[];
__attribute__((section(".vectors"), used)) static void *const vectors[2] = {stack_top, (void *)begin};
static int call(int operation, const void *block)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}
int printf(const char *format, double worst)
{
    char text[24] = {0};
    int k = 22;
    unsigned long long x = worst < 1e3 ? (unsigned long long)(worst * 1e15) : ~0ULL;
    (void)format;
    text[k--] = '\\n';
    do {
        text[k--] = (char)('0' + x % 10);
        x /= 10;
    } while (x);
    return call(4, text + k + 1);
}
void begin(void)
{
    *(volatile unsigned *)0xE000ED88 |= 0xFu << 20; /* the floating-point unit on */
    __asm__ volatile("dsb\\nisb" ::: "memory");
    const unsigned ended[2] = {0x20026, (unsigned)main()};
    call(0x20, ended);
    for (;;) {
    }
}
"""
LINK = """ENTRY(begin)
MEMORY { code (rx) : ORIGIN = 0, LENGTH = 4M
         data (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
stack_top = ORIGIN(data) + LENGTH(data);
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > code
  .ARM.exidx : { *(.ARM.exidx*) } > code
  .data : { *(.data*) *(.bss*) *(COMMON) } > data
}
"""


def loaded_bytes(image):
    """Bytes of code and constants that a 32-bit ELF file loads: the sizes in the file of its loaded segments."""
    data = image.read_bytes()
    start, size, count = (struct.unpack_from(f"<{kind}", data, at)[0] for kind, at in (("I", 28), ("H", 42), ("H", 44)))
    headers = [struct.unpack_from("<8I", data, start + k * size) for k in range(count)]
    return sum(header[4] for header in headers if header[0] == 1)


def write_bare(folder):
    """Write the files beside the exported ones; returns the sources and flags of a program for a mps2-an500 board."""
    for name, text in (("math.h", MATH), ("stdio.h", STDIO), ("start.c", START), ("link.ld", LINK)):
        (folder / name).write_text(text)
    return [
        "-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m7", "-std=gnu99", "-O2", "-g0",
        "-nostdlib", "-s", "-Wl,--entry=begin",
        "-fno-math-errno", "-ffp-contract=off", "-I", folder, "-T", folder / "link.ld", folder / "start.c",
    ]  # fmt: skip
