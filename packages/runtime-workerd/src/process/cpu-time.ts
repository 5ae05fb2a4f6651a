/** The processor time of a process, from Linux: it tells one that loops from one that a busy machine does not let run. */
import { readFileSync } from 'node:fs';

/** The ticks of `/proc/<pid>/stat` are a hundredth of a second on every architecture of Linux that Node runs on. */
const TICK_MS = 10;

/**
 * The time of the process that does the work: with a sandbox around it, that is the last of a line of children.
 * @returns milliseconds; null where the system does not say.
 */
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

function workerOf(pid: number): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  return child ? workerOf(Number(child)) : pid;
}
