package main

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/device"
)

// handler serves the metrics of what stats describes, which is called for each request.
func handler(stats func() cuzk.Stats) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		s := stats()
		w.Header().Set("Content-Type", contentType)
		w.Write(render(&s)) // a client that has gone is nobody's trouble
	})
}

// render is the page of a snapshot.
func render(s *cuzk.Stats) []byte {
	p := &page{}
	p.family("cuzk_start_time_seconds", gauge, "When the engine was opened, as Unix time.")
	p.sample("cuzk_start_time_seconds", unix(s.Opened))
	p.jobs(s)
	p.partitions(s)
	p.phases(s)
	p.host(s)
	p.devices(s.Devices)
	p.keys(s.Devices)
	return p.text.Bytes()
}

func (p *page) jobs(s *cuzk.Stats) {
	p.family("cuzk_jobs_open", gauge, "Jobs that wait for their first partition to begin, and jobs of which one has.")
	for _, j := range s.Jobs {
		p.sample("cuzk_jobs_open", float64(j.Queued), label{"kind", j.Kind}, label{"state", "queued"})
		p.sample("cuzk_jobs_open", float64(j.Running), label{"kind", j.Kind}, label{"state", "running"})
	}
	p.family("cuzk_jobs_total", counter, "Jobs that have ended, and those that were refused at submission.")
	for _, j := range s.Jobs {
		for _, r := range []struct {
			result string
			n      uint64
		}{{"done", j.Done}, {"failed", j.Failed}, {"cancelled", j.Cancelled}, {"refused", j.Refused}} {
			p.sample("cuzk_jobs_total", float64(r.n), label{"kind", j.Kind}, label{"result", r.result})
		}
	}
	for _, m := range []struct {
		name, help string
		value      func(q *cuzk.QueueStats) float64
	}{
		{"cuzk_queue_jobs", "Jobs with partitions that wait.", func(q *cuzk.QueueStats) float64 { return float64(q.Jobs) }},
		{"cuzk_queue_partitions", "Partitions that wait.", func(q *cuzk.QueueStats) float64 { return float64(q.Partitions) }},
		{"cuzk_queue_oldest_seconds", "How long the job that has waited longest has waited.",
			func(q *cuzk.QueueStats) float64 { return q.OldestWait.Seconds() }},
	} {
		p.family(m.name, gauge, m.help)
		for i := range s.Queues {
			p.sample(m.name, m.value(&s.Queues[i]), label{"class", s.Queues[i].Class})
		}
	}
}

func (p *page) partitions(s *cuzk.Stats) {
	p.family("cuzk_partitions_total", counter, "Partitions that have ended, by circuit.")
	for _, c := range s.Partitions {
		p.sample("cuzk_partitions_total", float64(c.Done), label{"circuit", c.Circuit}, label{"result", "done"})
		p.sample("cuzk_partitions_total", float64(c.Failed), label{"circuit", c.Circuit}, label{"result", "failed"})
	}
	p.family("cuzk_partition_retries_total", counter, "Partitions that were tried once more after a fault of a device.")
	for _, c := range s.Partitions {
		p.sample("cuzk_partition_retries_total", float64(c.Retried), label{"circuit", c.Circuit})
	}
}

func (p *page) phases(s *cuzk.Stats) {
	p.family("cuzk_phase_seconds", summary, "Wall time that partitions with a proof have spent in a phase.")
	for _, x := range s.Phases {
		labels := []label{{"circuit", x.Circuit}, {"phase", string(x.Phase)}}
		p.sample("cuzk_phase_seconds_sum", x.Sum.Seconds(), labels...)
		p.sample("cuzk_phase_seconds_count", float64(x.Count), labels...)
	}
	p.family("cuzk_phase_device_seconds_total", counter, "The same by the clocks of GPUs.")
	for _, x := range s.Phases {
		p.sample("cuzk_phase_device_seconds_total", x.DeviceSum.Seconds(),
			label{"circuit", x.Circuit}, label{"phase", string(x.Phase)})
	}
}

func (p *page) host(s *cuzk.Stats) {
	for _, m := range []struct {
		name, help string
		value      int64
	}{
		{"cuzk_host_promised_bytes", "Memory of the host that running partitions may take.", s.HostPromisedBytes},
		{"cuzk_host_promised_peak_bytes", "The most that was promised at a time.", s.HostPeakBytes},
		{"cuzk_host_limit_bytes", "The most that can be promised; 0 is no limit.", s.HostLimitBytes},
	} {
		p.family(m.name, gauge, m.help)
		p.sample(m.name, float64(m.value))
	}
}

// uuid names a device in labels.
func uuid(i *device.Info) label {
	if i.IsCPU() {
		return label{"uuid", "cpu"}
	}
	return label{"uuid", i.UUID}
}

// deviceMetric is a number that each device has.
type deviceMetric struct {
	name, kind, help string
	value            func(d *cuzk.DeviceStats) float64
}

func deviceMetrics() []deviceMetric {
	return []deviceMetric{
		{"cuzk_device_lost", gauge, "1 if the device no longer works for this process.",
			func(d *cuzk.DeviceStats) float64 { return truth(d.Stats.Lost) }},
		{"cuzk_device_only_winning", gauge, "1 if the device is reserved for WinningPoSt.",
			func(d *cuzk.DeviceStats) float64 { return truth(d.OnlyWinning) }},
		{"cuzk_device_workers", gauge, "Partitions that the device can have in work.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Workers) }},
		{"cuzk_device_workers_busy", gauge, "Partitions that it has in work.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Busy) }},
		{"cuzk_device_memory_bytes", gauge, "Memory of the device in all.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Info.MemoryBytes) }},
		{"cuzk_device_limit_bytes", gauge, "The most that can be promised; 0 before the first promise.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Stats.LimitBytes) }},
		{"cuzk_device_leased_bytes", gauge, "Memory promised to provers.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Stats.LeasedBytes) }},
		{"cuzk_device_leased_peak_bytes", gauge, "The most that was promised at a time.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Stats.PeakLeasedBytes) }},
		{"cuzk_device_allocated_bytes", gauge, "Memory that is allocated.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Stats.BytesInUse) }},
		{"cuzk_device_process_bytes", gauge, "All that the process has of the device, with context and kernels; 0: not known.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Stats.ProcessBytes) }},
		{"cuzk_device_pinned_bytes", gauge, "Page-locked memory of the host.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Stats.PinnedBytes) }},
		{"cuzk_device_pinned_refused_total", counter, "Streams that do without page-locked memory since the system refused it.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Stats.PinnedRefused) }},
		{"cuzk_device_launches_total", counter, "Kernels that were launched.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Stats.Launches) }},
		{"cuzk_device_yields_total", counter, "Pieces of work that waited for more urgent ones.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Stats.Yields) }},
		{"cuzk_device_leaks_total", counter, "Handles that nobody closed.",
			func(d *cuzk.DeviceStats) float64 { return float64(d.Stats.Leaks) }},
	}
}

func (p *page) devices(devices []cuzk.DeviceStats) {
	p.family("cuzk_device_info", gauge, "1 for each device, with what does not change.")
	for i := range devices {
		d := &devices[i].Info
		capability := fmt.Sprintf("%d.%d", d.Capability[0], d.Capability[1])
		p.sample("cuzk_device_info", 1, uuid(d), label{"ordinal", strconv.Itoa(d.Ordinal)}, label{"name", d.Name},
			label{"pci", d.PCI}, label{"capability", capability}, label{"driver", d.Driver})
	}
	for _, m := range deviceMetrics() {
		p.family(m.name, m.kind, m.help)
		for i := range devices {
			p.sample(m.name, m.value(&devices[i]), uuid(&devices[i].Info))
		}
	}
	p.family("cuzk_device_partitions_total", counter, "Partitions that have ended, by device.")
	for i := range devices {
		d := &devices[i]
		p.sample("cuzk_device_partitions_total", float64(d.Done), uuid(&d.Info), label{"result", "done"})
		p.sample("cuzk_device_partitions_total", float64(d.Failed), uuid(&d.Info), label{"result", "failed"})
	}
}

func (p *page) keys(devices []cuzk.DeviceStats) {
	for _, m := range []struct {
		name, help string
		value      func(k *cuzk.KeyStats) float64
	}{
		{"cuzk_key_bytes", "Memory that a loaded key holds.", func(k *cuzk.KeyStats) float64 { return float64(k.Bytes) }},
		{"cuzk_key_users", "Partitions that need the key now.", func(k *cuzk.KeyStats) float64 { return float64(k.Users) }},
		{"cuzk_key_last_use_time_seconds", "When the key was last used, as Unix time.",
			func(k *cuzk.KeyStats) float64 { return unix(k.LastUse) }},
	} {
		p.family(m.name, gauge, m.help)
		for i := range devices {
			for k := range devices[i].Keys {
				key := &devices[i].Keys[k]
				p.sample(m.name, m.value(key), uuid(&devices[i].Info), label{"circuit", key.Circuit})
			}
		}
	}
}
