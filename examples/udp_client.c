/* Make `footfall serve dynakat` stand and walk over UDP: cc -o udp_client udp_client.c -lm && ./udp_client [SECONDS [DOMAIN]]
 * Little-endian machines. The protocol: docs/guides/robot-protocol.md */
#include <arpa/inet.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { HELLO = 1, STATE = 3, COMMAND = 4, BYE = 5, JOINTS = 16, HEADER = 24 };

typedef struct { char magic[4]; uint16_t version, kind; uint32_t length, layout, flags, zero; } Header;
typedef struct { uint64_t count; double position[JOINTS], velocity[JOINTS], kp[JOINTS], kd[JOINTS], torque[JOINTS]; } Command;

static uint32_t crc32(const unsigned char *data, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; ++i) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

static void send_packet(int link, uint16_t kind, uint32_t layout, const void *payload, uint32_t length)
{
    unsigned char data[HEADER + sizeof(Command) + 4];
    Header header = {{'F', 'F', 'R', '1'}, 1, kind, length, layout, 0, 0};
    memcpy(data, &header, HEADER);
    if (length) memcpy(data + HEADER, payload, length);
    uint32_t crc = crc32(data, HEADER + length);
    memcpy(data + HEADER + length, &crc, 4);
    if (send(link, data, HEADER + length + 4, 0) < 0) perror("send");
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 10.0, stand[JOINTS], position[JOINTS], t;
    struct sockaddr_in robot = {.sin_family = AF_INET, .sin_port = htons(47800 + (argc > 2 ? atoi(argv[2]) : 0))};
    struct timeval patience = {1, 0};
    int link = socket(AF_INET, SOCK_DGRAM, 0), begun = 0, tries = 0;
    static unsigned char data[65536];
    Command command = {0};
    double begin = 0.0;
    inet_pton(AF_INET, "127.0.0.1", &robot.sin_addr);
    setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(link, (struct sockaddr *)&robot, sizeof robot)) return perror("connect"), 1;
    send_packet(link, HELLO, 0, NULL, 0);
    for (;;) { /* states come 500 times a second and pace this loop */
        ssize_t got = recv(link, data, sizeof data, 0);
        Header header;
        uint32_t crc;
        if (got < HEADER + 4) { /* the server may still be starting */
            if (begun || ++tries > 60) return fprintf(stderr, "no state from the robot\n"), 1;
            sleep(1);
            send_packet(link, HELLO, 0, NULL, 0);
            continue;
        }
        memcpy(&header, data, HEADER);
        memcpy(&crc, data + got - 4, 4);
        if (header.kind != STATE || crc != crc32(data, (size_t)got - 4)) continue;
        memcpy(&t, data + HEADER + 8, 8);
        memcpy(position, data + HEADER + 16, sizeof position);
        if (!begun) begun = 1, begin = t, memcpy(stand, position, sizeof stand);
        if ((t -= begin) >= seconds) break;
        command.count += 1;
        for (int k = 0; k < JOINTS; ++k) { /* legs LF, RF, LH, RH of hip, abad, knee, ankle: a trot after a second */
            int leg = k / 4, part = k % 4;
            double phase = 4.0 * M_PI * (t - 1.0) + (leg == 0 || leg == 3 ? 0.0 : M_PI);
            double swing = t > 1.0 ? 0.15 * cos(phase) : 0.0, lift = t > 1.0 ? 0.5 * fmax(0.0, sin(phase)) : 0.0;
            double moved[4] = {swing, 0.0, -lift, lift - swing};
            command.position[k] = stand[k] + moved[part];
            command.kp[k] = 17.0;
            command.kd[k] = 0.4;
        }
        send_packet(link, COMMAND, header.layout, &command, sizeof command);
    }
    send_packet(link, BYE, 0, NULL, 0);
    printf("%llu commands in %g s of the robot; LF_hip at %.3f\n", (unsigned long long)command.count, seconds, position[0]);
    return 0;
}
