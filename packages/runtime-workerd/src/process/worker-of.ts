/** The process that does the work within its sandbox, from Linux: its processor time and its memory. */
import { readFileSync } from 'node:fs';

/** The ticks of `/proc/<pid>/stat` are a hundredth of a second on every architecture of Linux that Node runs on. */
const TICK_MS = 10;

/** The processor time in milliseconds; null where the system does not tell. */
export function cpuTimeMs(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${workerOf(pid)}/stat`, 'utf8');
    // The name is in parentheses, and may have any letter. Fields 14 and 15 are the times (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return null;
  }
}

/** The memory that RLIMIT_DATA counts, in MiB; null where the system does not tell. */
export function dataMib(pid: number): number | null {
  try {
    const status = readFileSync(`/proc/${workerOf(pid)}/status`, 'utf8');
    const kib = /^VmData:\s+(\d+) kB$/m.exec(status)?.[1];
    return kib === undefined ? null : Number(kib) / 1_024;
  } catch {
    return null;
  }
}

/** A sandbox does not pass signals on. The process in it is the last of a line of children. */
export function workerOf(pid: number): number {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    return child ? workerOf(Number(child)) : pid;
  } catch {
    return pid;
  }
}
