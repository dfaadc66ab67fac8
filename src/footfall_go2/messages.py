"""Go2's messages, declared from their published names, fields and order."""

from __future__ import annotations

from footfall.hardware.dds.definitions import declared
from footfall_go2.fixed import fixed

MOTORS = 20  # motors in a message; a quadruped uses the first twelve
_HEAD = "uint8[2] head\nuint8 level_flag\nuint8 frame_reserve\nuint32[2] sn\nuint32[2] version\nuint16 bandwidth"
_GO = {
    "MotorCmd": "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 tau\nfloat32 kp\nfloat32 kd\nuint32[3] reserve",
    "BmsCmd": "uint8 off\nuint8[3] reserve",
    "LowCmd": (
        f"{_HEAD}\nMotorCmd[{MOTORS}] motor_cmd\nBmsCmd bms_cmd\nuint8[40] wireless_remote\nuint8[12] led\n"
        "uint8[2] fan\nuint8 gpio\nuint32 reserve\nuint32 crc"
    ),
    "IMUState": (
        "float32[4] quaternion\nfloat32[3] gyroscope\nfloat32[3] accelerometer\nfloat32[3] rpy\nuint8 temperature"
    ),
    "MotorState": (
        "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 ddq\nfloat32 tau_est\nfloat32 q_raw\nfloat32 dq_raw\n"
        "float32 ddq_raw\nuint8 temperature\nuint32 lost\nuint32[2] reserve"
    ),
    "BmsState": (
        "uint8 version_high\nuint8 version_low\nuint8 status\nuint8 soc\nint32 current\nuint16 cycle\nuint8[2] bq_ntc\n"
        "uint8[2] mcu_ntc\nuint16[15] cell_vol"
    ),
    "LowState": (
        f"{_HEAD}\nIMUState imu_state\nMotorState[{MOTORS}] motor_state\nBmsState bms_state\nint16[4] foot_force\n"
        "int16[4] foot_force_est\nuint32 tick\nuint8[40] wireless_remote\nuint8 bit_flag\nfloat32 adc_reel\n"
        "uint8 temperature_ntc1\nuint8 temperature_ntc2\nfloat32 power_v\nfloat32 power_a\nuint16[4] fan_frequency\n"
        "uint32 reserve\nuint32 crc"
    ),
    "TimeSpec": "int32 sec\nuint32 nanosec",
    "PathPoint": "float32 t_from_start\nfloat32 x\nfloat32 y\nfloat32 yaw\nfloat32 vx\nfloat32 vy\nfloat32 vyaw",
    "SportModeState": (
        "TimeSpec stamp\nuint32 error_code\nIMUState imu_state\nuint8 mode\nfloat32 progress\nuint8 gait_type\n"
        "float32 foot_raise_height\nfloat32[3] position\nfloat32 body_height\nfloat32[3] velocity\nfloat32 yaw_speed\n"
        "float32[4] range_obstacle\nint16[4] foot_force\nfloat32[12] foot_position_body\nfloat32[12] foot_speed_body\n"
        "PathPoint[10] path_point"
    ),
    "WirelessController": "float32 lx\nfloat32 ly\nfloat32 rx\nfloat32 ry\nuint16 keys",
}
_API = {
    "RequestIdentity": "int64 id\nint64 api_id",
    "RequestLease": "int64 id",
    "RequestPolicy": "int32 priority\nbool noreply",
    "RequestHeader": "RequestIdentity identity\nRequestLease lease\nRequestPolicy policy",
    "Request": "RequestHeader header\nstring parameter\nuint8[] binary",
    "ResponseStatus": "int32 code",
    "ResponseHeader": "RequestIdentity identity\nResponseStatus status",
    "Response": "ResponseHeader header\nstring data\nuint8[] binary",
}
_go, _api = declared(_GO, "unitree_go/"), declared(_API, "unitree_api/")

LowCmd, LowState = fixed(_go["LowCmd"]), fixed(_go["LowState"])
SportModeState, WirelessController = fixed(_go["SportModeState"]), fixed(_go["WirelessController"])
Request, RequestHeader, RequestIdentity = _api["Request"], _api["RequestHeader"], _api["RequestIdentity"]
RequestLease, RequestPolicy = _api["RequestLease"], _api["RequestPolicy"]
Response, ResponseHeader, ResponseStatus = _api["Response"], _api["ResponseHeader"], _api["ResponseStatus"]
