"""Analysis of recordings and of many runs: plots, summary, gait diagram, economy, identification, margins."""

from typing import TYPE_CHECKING

from nptrace.lazy import lazy_exports

if TYPE_CHECKING:
    from footfall.analysis.estimation_error import EstimationErrors, estimation_errors
    from footfall.analysis.gait_diagram import footfall_diagram, footfall_diagram_of
    from footfall.analysis.identification import Identified, Samples, identify, samples
    from footfall.analysis.margin_search import Margin, Margins, margins
    from footfall.analysis.motor_load import MotorLoad, motor_loads
    from footfall.analysis.motor_report import MotorReport, identify_motors, read_identified
    from footfall.analysis.named_parameters import NamedFit
    from footfall.analysis.row_times import RowTimes, rebuild_times
    from footfall.analysis.run_stability import Stability, plot_stability, plot_support, stability
    from footfall.analysis.run_summary import summary
    from footfall.analysis.sensed_torques import SensedTorques, joint_torques_from_sensors
    from footfall.analysis.walking_economy import Economy, Strides, economy, plot_economy, strides

__all__, __getattr__, __dir__ = lazy_exports(
    "footfall.analysis",
    {
        "estimation_error": "EstimationErrors estimation_errors",
        "gait_diagram": "footfall_diagram footfall_diagram_of",
        "identification": "Identified Samples identify samples",
        "margin_search": "Margin Margins margins",
        "motor_load": "MotorLoad motor_loads",
        "motor_report": "MotorReport identify_motors read_identified",
        "named_parameters": "NamedFit",
        "row_times": "RowTimes rebuild_times",
        "run_stability": "Stability plot_stability plot_support stability",
        "run_summary": "summary",
        "sensed_torques": "SensedTorques joint_torques_from_sensors",
        "walking_economy": "Economy Strides economy plot_economy strides",
    },
)
