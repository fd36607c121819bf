package toolserver

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts what a Service does. docs/serving.md lists the names.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	errors   *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	requests *prometheus.CounterVec
}

// buckets reach from an answer out of memory to a call that is cut off.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

func newMetrics(s *Service) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "graphmill_calls_total", Help: "Tool calls by tool and outcome (ok, error, busy, cancelled)."}, []string{"tool", "outcome"}),
		errors:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "graphmill_call_errors_total", Help: "Failed tool calls by kind of failure."}, []string{"kind"}),
		seconds:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "graphmill_call_seconds", Help: "Time of tool calls, waiting for a place included.", Buckets: buckets}, []string{"tool"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "graphmill_http_requests_total", Help: "HTTP requests by status code."}, []string{"code"}),
	}
	m.registry.MustRegister(m.calls, m.errors, m.seconds, m.requests,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("graphmill_calls_waiting", "Calls that wait for a place.", func() float64 { return float64(s.gate.load().waiting) }),
		gauge("graphmill_calls_working", "Calls that are worked on, abandoned ones included.", func() float64 { return float64(s.gate.load().working) }),
		gauge("graphmill_calls_abandoned", "Calls that nobody waits for any more and that still hold a place.", func() float64 { return float64(s.gate.load().abandoned) }),
		sessionGauge{s.sessions, prometheus.NewDesc("graphmill_sessions", "Open sessions by transport.", []string{"transport"}, nil)},
	)
	return m
}

func gauge(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
}

// sessionGauge reads the registry when it is asked, so that no count can drift.
type sessionGauge struct {
	sessions *registry
	about    *prometheus.Desc
}

func (g sessionGauge) Describe(to chan<- *prometheus.Desc) { to <- g.about }

func (g sessionGauge) Collect(to chan<- prometheus.Metric) {
	counts := g.sessions.counts()
	for _, over := range []string{overStdio, overHTTP, overSSE, overStateless} {
		to <- prometheus.MustNewConstMetric(g.about, prometheus.GaugeValue, float64(counts[over]), over)
	}
}

func (m *metrics) called(tool string, told *Error, took time.Duration) {
	outcome := "ok"
	if told != nil {
		outcome = "error"
		if told.Kind == Busy || told.Kind == Cancelled {
			outcome = string(told.Kind)
		}
		m.errors.WithLabelValues(string(told.Kind)).Inc()
	}
	m.calls.WithLabelValues(tool, outcome).Inc()
	m.seconds.WithLabelValues(tool).Observe(took.Seconds())
}

func (m *metrics) answered(status int) { m.requests.WithLabelValues(strconv.Itoa(status)).Inc() }

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
