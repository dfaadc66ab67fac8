/* FMI 3.0 for co-simulation, declared here as the standard words it. Written by footfall.
 *
 * The model is a function of its state and inputs that is called once a period (model.h). Between two calls nothing
 * changes: a communication step of any length takes as many periods as have ended by its end.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#ifdef FMI3_FUNCTION_PREFIX
#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define NAMED(name) JOINED(FMI3_FUNCTION_PREFIX, name)
#else
#define NAMED(name) name
#endif
#if defined _WIN32 || defined __CYGWIN__
#define EXPORT __declspec(dllexport)
#elif defined __GNUC__
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

/* -- types ---------------------------------------------------------------------------------------------------------- */
typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef int8_t fmi3Int8;
typedef uint8_t fmi3UInt8;
typedef int16_t fmi3Int16;
typedef uint16_t fmi3UInt16;
typedef int32_t fmi3Int32;
typedef uint32_t fmi3UInt32;
typedef int64_t fmi3Int64;
typedef uint64_t fmi3UInt64;
typedef bool fmi3Boolean;
typedef char fmi3Char;
typedef const fmi3Char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef bool fmi3Clock;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum { fmi3Independent, fmi3Constant, fmi3Fixed, fmi3Tunable, fmi3Discrete, fmi3Dependent } fmi3DependencyKind;
typedef enum { fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged } fmi3IntervalQualifier;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String category, fmi3String message);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3IntermediateUpdateCallback)(
    fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean, fmi3Boolean, fmi3Boolean, fmi3Boolean *,
    fmi3Float64 *);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);

/* -- the instance --------------------------------------------------------------------------------------------------- */
enum { INSTANTIATED, INITIALIZING, STEPPING, TERMINATED, FAILED };

typedef struct {
    int phase;
    double start, time, periods; /* periods that have passed since the start */
    double state[MODEL_STATES], inputs[MODEL_INPUTS];
} Snapshot;

typedef struct {
    Snapshot now;
    double next[MODEL_STATES], work[MODEL_WORK];
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
} Model;

static fmi3Status failed(Model *model, fmi3String message)
{
    if (model && model->log)
        model->log(model->environment, fmi3Error, "logStatusError", message);
    return fmi3Error;
}

static void restart(Model *model)
{
    memset(&model->now, 0, sizeof model->now);
    memcpy(model->now.state, model_start_state, sizeof model->now.state);
    memcpy(model->now.inputs, model_start_inputs, sizeof model->now.inputs);
    model->now.phase = INSTANTIATED;
}

EXPORT const char *NAMED(fmi3GetVersion)(void)
{
    return "3.0";
}

EXPORT fmi3Status NAMED(fmi3SetDebugLogging)(
    fmi3Instance instance, fmi3Boolean on, size_t count, const fmi3String categories[])
{
    (void)instance, (void)on, (void)count, (void)categories;
    return fmi3OK; /* errors alone are logged, always */
}

EXPORT fmi3Instance NAMED(fmi3InstantiateCoSimulation)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3Boolean events, fmi3Boolean early, const fmi3ValueReference intermediate[], size_t intermediates,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update)
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)intermediate;
    (void)intermediates, (void)update;
    if (!token || strcmp(token, MODEL_TOKEN)) {
        if (log)
            log(environment, fmi3Error, "logStatusError", "the instantiation token is that of another model");
        return NULL;
    }
    Model *model = calloc(1, sizeof *model);
    if (!model)
        return NULL;
    model->environment = environment;
    model->log = log;
    restart(model);
    return model;
}

EXPORT fmi3Instance NAMED(fmi3InstantiateModelExchange)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging;
    if (log)
        log(environment, fmi3Error, "logStatusError", "this model is for co-simulation, not for model exchange");
    return NULL;
}

EXPORT fmi3Instance NAMED(fmi3InstantiateScheduledExecution)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3ClockUpdateCallback clock,
    fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)clock, (void)lock, (void)unlock;
    if (log)
        log(environment, fmi3Error, "logStatusError", "this model is for co-simulation, not for scheduled execution");
    return NULL;
}

EXPORT void NAMED(fmi3FreeInstance)(fmi3Instance instance)
{
    free(instance);
}

EXPORT fmi3Status NAMED(fmi3EnterInitializationMode)(
    fmi3Instance instance, fmi3Boolean has_tolerance, fmi3Float64 tolerance, fmi3Float64 start, fmi3Boolean has_stop,
    fmi3Float64 stop)
{
    Model *model = instance;
    (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
    if (model->now.phase != INSTANTIATED)
        return failed(model, "initialization can be entered once, before any step");
    model->now.start = model->now.time = start;
    model->now.phase = INITIALIZING;
    return fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3ExitInitializationMode)(fmi3Instance instance)
{
    Model *model = instance;
    if (model->now.phase != INITIALIZING)
        return failed(model, "initialization was not entered");
    model->now.phase = STEPPING;
    return fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3Terminate)(fmi3Instance instance)
{
    ((Model *)instance)->now.phase = TERMINATED;
    return fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3Reset)(fmi3Instance instance)
{
    restart(instance);
    return fmi3OK;
}

/* -- steps ---------------------------------------------------------------------------------------------------------- */
EXPORT fmi3Status NAMED(fmi3DoStep)(
    fmi3Instance instance, fmi3Float64 time, fmi3Float64 step, fmi3Boolean no_return, fmi3Boolean *event,
    fmi3Boolean *stop, fmi3Boolean *early, fmi3Float64 *last)
{
    Model *model = instance;
    Snapshot *now = &model->now;
    (void)no_return;
    if (now->phase != STEPPING)
        return failed(model, "steps are taken after initialization, and not after a failure");
    if (!(step >= 0.0) || !(fabs(time - now->time) <= 0.5 * MODEL_PERIOD))
        return failed(model, "a step must go forward from where the last one ended");
    const double end = time + step, target = floor((end - now->start) / MODEL_PERIOD + 1e-6);
    *event = *stop = *early = false;
    for (; now->periods < target; now->periods += 1.0) {
        double sum = 0.0;
        MODEL_TICK(now->state, now->inputs, model->next, model->work);
        for (size_t k = 0; k < MODEL_STATES; ++k)
            sum += fabs(now->state[k] = model->next[k]);
        if (!(sum < HUGE_VAL)) {
            now->phase = FAILED;
            return failed(model, "the run diverged: a number of the state is no longer finite");
        }
    }
    *last = now->time = end;
    return fmi3OK;
}

/* -- values --------------------------------------------------------------------------------------------------------- */
EXPORT fmi3Status NAMED(fmi3GetFloat64)(
    fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3Float64 values[], size_t n)
{
    Model *model = instance;
    if (n < count)
        return failed(model, "every variable is one number: fewer values than references");
    for (size_t k = 0; k < count; ++k) {
        const fmi3ValueReference at = references[k];
        if (at == 0)
            values[k] = model->now.time;
        else if (at <= MODEL_INPUTS)
            values[k] = model->now.inputs[at - 1];
        else if (at <= MODEL_INPUTS + MODEL_OUTPUTS)
            values[k] = model->now.state[model_outputs[at - 1 - MODEL_INPUTS]];
        else
            return failed(model, "there is no variable of that reference");
    }
    return fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3SetFloat64)(
    fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3Float64 values[], size_t n)
{
    Model *model = instance;
    if (n < count)
        return failed(model, "every variable is one number: fewer values than references");
    for (size_t k = 0; k < count; ++k) {
        if (references[k] < 1 || references[k] > MODEL_INPUTS)
            return failed(model, "inputs alone can be set");
        if (!(fabs(values[k]) < HUGE_VAL))
            return failed(model, "an input must be finite");
    }
    for (size_t k = 0; k < count; ++k)
        model->now.inputs[references[k] - 1] = values[k];
    return fmi3OK;
}

/* All variables are Float64. */
#define NO_VARIABLES(kind)                                                                                             \
    EXPORT fmi3Status NAMED(fmi3Get##kind)(                                                                            \
        fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3##kind values[], size_t n)     \
    {                                                                                                                  \
        (void)references, (void)values, (void)n;                                                                       \
        return count ? failed(instance, "this model has no variables of type " #kind) : fmi3OK;                        \
    }                                                                                                                  \
    EXPORT fmi3Status NAMED(fmi3Set##kind)(                                                                            \
        fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3##kind values[],         \
        size_t n)                                                                                                      \
    {                                                                                                                  \
        (void)references, (void)values, (void)n;                                                                       \
        return count ? failed(instance, "this model has no variables of type " #kind) : fmi3OK;                        \
    }

NO_VARIABLES(Float32)
NO_VARIABLES(Int8)
NO_VARIABLES(UInt8)
NO_VARIABLES(Int16)
NO_VARIABLES(UInt16)
NO_VARIABLES(Int32)
NO_VARIABLES(UInt32)
NO_VARIABLES(Int64)
NO_VARIABLES(UInt64)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

EXPORT fmi3Status NAMED(fmi3GetBinary)(
    fmi3Instance instance, const fmi3ValueReference references[], size_t count, size_t sizes[], fmi3Binary values[],
    size_t n)
{
    (void)references, (void)sizes, (void)values, (void)n;
    return count ? failed(instance, "this model has no variables of type Binary") : fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3SetBinary)(
    fmi3Instance instance, const fmi3ValueReference references[], size_t count, const size_t sizes[],
    const fmi3Binary values[], size_t n)
{
    (void)references, (void)sizes, (void)values, (void)n;
    return count ? failed(instance, "this model has no variables of type Binary") : fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3GetClock)(
    fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3Clock values[])
{
    (void)references, (void)values;
    return count ? failed(instance, "this model has no clocks") : fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3SetClock)(
    fmi3Instance instance, const fmi3ValueReference references[], size_t count, const fmi3Clock values[])
{
    (void)references, (void)values;
    return count ? failed(instance, "this model has no clocks") : fmi3OK;
}

/* -- the state, kept and written down ------------------------------------------------------------------------------- */
EXPORT fmi3Status NAMED(fmi3GetFMUState)(fmi3Instance instance, fmi3FMUState *kept)
{
    Model *model = instance;
    if (!*kept && !(*kept = malloc(sizeof(Snapshot))))
        return failed(model, "no memory is left");
    memcpy(*kept, &model->now, sizeof(Snapshot));
    return fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3SetFMUState)(fmi3Instance instance, fmi3FMUState kept)
{
    memcpy(&((Model *)instance)->now, kept, sizeof(Snapshot));
    return fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3FreeFMUState)(fmi3Instance instance, fmi3FMUState *kept)
{
    (void)instance;
    free(*kept);
    *kept = NULL;
    return fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3SerializedFMUStateSize)(fmi3Instance instance, fmi3FMUState kept, size_t *size)
{
    (void)instance, (void)kept;
    *size = sizeof(Snapshot);
    return fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3SerializeFMUState)(fmi3Instance instance, fmi3FMUState kept, fmi3Byte bytes[], size_t size)
{
    if (size < sizeof(Snapshot))
        return failed(instance, "the state does not fit into so few bytes");
    memcpy(bytes, kept, sizeof(Snapshot));
    return fmi3OK;
}

EXPORT fmi3Status NAMED(fmi3DeserializeFMUState)(
    fmi3Instance instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *kept)
{
    if (size != sizeof(Snapshot))
        return failed(instance, "these bytes are not a state of this model");
    if (!*kept && !(*kept = malloc(sizeof(Snapshot))))
        return failed(instance, "no memory is left");
    memcpy(*kept, bytes, sizeof(Snapshot));
    return fmi3OK;
}

/* -- what the model description says it cannot do ------------------------------------------------------------------- */
#define CANNOT(name, arguments, what)                                                                                  \
    EXPORT fmi3Status NAMED(name) arguments                                                                            \
    {                                                                                                                  \
        return failed(instance, what);                                                                                 \
    }
#if defined __GNUC__
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#define REFERENCES(name) const fmi3ValueReference name[], size_t n_##name

CANNOT(fmi3EnterEventMode, (fmi3Instance instance), "this model has no events")
CANNOT(fmi3EnterStepMode, (fmi3Instance instance), "this model has no event mode to leave")
CANNOT(fmi3EvaluateDiscreteStates, (fmi3Instance instance), "this model has no event mode")
CANNOT(fmi3UpdateDiscreteStates,
       (fmi3Instance instance, fmi3Boolean *update, fmi3Boolean *stop, fmi3Boolean *nominals, fmi3Boolean *values,
        fmi3Boolean *defined, fmi3Float64 *next), "this model has no event mode")
CANNOT(fmi3EnterConfigurationMode, (fmi3Instance instance), "this model has nothing to configure")
CANNOT(fmi3ExitConfigurationMode, (fmi3Instance instance), "this model has nothing to configure")
CANNOT(fmi3GetNumberOfVariableDependencies, (fmi3Instance instance, fmi3ValueReference of, size_t *count),
       "dependencies of elements are not provided")
CANNOT(fmi3GetVariableDependencies,
       (fmi3Instance instance, fmi3ValueReference of, size_t elements[], fmi3ValueReference independents[],
        size_t independent_elements[], fmi3DependencyKind kinds[], size_t n),
       "dependencies of elements are not provided")
CANNOT(fmi3GetDirectionalDerivative,
       (fmi3Instance instance, REFERENCES(unknowns), REFERENCES(knowns), const fmi3Float64 seed[], size_t n_seed,
        fmi3Float64 sensitivity[], size_t n), "derivatives are not provided")
CANNOT(fmi3GetAdjointDerivative,
       (fmi3Instance instance, REFERENCES(unknowns), REFERENCES(knowns), const fmi3Float64 seed[], size_t n_seed,
        fmi3Float64 sensitivity[], size_t n), "derivatives are not provided")
CANNOT(fmi3GetOutputDerivatives,
       (fmi3Instance instance, REFERENCES(outputs), const fmi3Int32 orders[], fmi3Float64 values[], size_t n),
       "derivatives of outputs are not provided")
CANNOT(fmi3GetIntervalDecimal,
       (fmi3Instance instance, REFERENCES(clocks), fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[]),
       "this model has no clocks")
CANNOT(fmi3GetIntervalFraction,
       (fmi3Instance instance, REFERENCES(clocks), fmi3UInt64 counters[], fmi3UInt64 resolutions[],
        fmi3IntervalQualifier qualifiers[]), "this model has no clocks")
CANNOT(fmi3GetShiftDecimal, (fmi3Instance instance, REFERENCES(clocks), fmi3Float64 shifts[]),
       "this model has no clocks")
CANNOT(fmi3GetShiftFraction,
       (fmi3Instance instance, REFERENCES(clocks), fmi3UInt64 counters[], fmi3UInt64 resolutions[]),
       "this model has no clocks")
CANNOT(fmi3SetIntervalDecimal, (fmi3Instance instance, REFERENCES(clocks), const fmi3Float64 intervals[]),
       "this model has no clocks")
CANNOT(fmi3SetIntervalFraction,
       (fmi3Instance instance, REFERENCES(clocks), const fmi3UInt64 counters[], const fmi3UInt64 resolutions[]),
       "this model has no clocks")
CANNOT(fmi3SetShiftDecimal, (fmi3Instance instance, REFERENCES(clocks), const fmi3Float64 shifts[]),
       "this model has no clocks")
CANNOT(fmi3SetShiftFraction,
       (fmi3Instance instance, REFERENCES(clocks), const fmi3UInt64 counters[], const fmi3UInt64 resolutions[]),
       "this model has no clocks")
CANNOT(fmi3ActivateModelPartition, (fmi3Instance instance, fmi3ValueReference clock, fmi3Float64 time),
       "this model has no partitions")
CANNOT(fmi3EnterContinuousTimeMode, (fmi3Instance instance), "this model is for co-simulation")
CANNOT(fmi3CompletedIntegratorStep,
       (fmi3Instance instance, fmi3Boolean no_return, fmi3Boolean *event, fmi3Boolean *stop),
       "this model is for co-simulation")
CANNOT(fmi3SetTime, (fmi3Instance instance, fmi3Float64 time), "this model is for co-simulation")
CANNOT(fmi3SetContinuousStates, (fmi3Instance instance, const fmi3Float64 states[], size_t n),
       "this model is for co-simulation")
CANNOT(fmi3GetContinuousStates, (fmi3Instance instance, fmi3Float64 states[], size_t n),
       "this model is for co-simulation")
CANNOT(fmi3GetContinuousStateDerivatives, (fmi3Instance instance, fmi3Float64 rates[], size_t n),
       "this model is for co-simulation")
CANNOT(fmi3GetNominalsOfContinuousStates, (fmi3Instance instance, fmi3Float64 nominals[], size_t n),
       "this model is for co-simulation")
CANNOT(fmi3GetEventIndicators, (fmi3Instance instance, fmi3Float64 indicators[], size_t n),
       "this model is for co-simulation")
CANNOT(fmi3GetNumberOfContinuousStates, (fmi3Instance instance, size_t *n), "this model is for co-simulation")
CANNOT(fmi3GetNumberOfEventIndicators, (fmi3Instance instance, size_t *n), "this model is for co-simulation")
