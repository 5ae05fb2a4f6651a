/** The end of a process that outlived its platform: it still has the objects open. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The longest wait for the end of a killed process. */
const WAIT_MS = 5_000;

/** The file with the id of the process that was started last. */
export function pidFile(folder: string): string {
  return join(folder, 'pid');
}

/** Kills the process that was started last in this folder, if it still runs, and waits until it is gone. */
export async function endOrphan(folder: string): Promise<void> {
  const pid = readPid(pidFile(folder));
  rmSync(pidFile(folder), { force: true });
  if (pid === null || !isOurs(pid, folder)) return;
  process.kill(pid, 'SIGKILL');
  for (let waitedMs = 0; isOurs(pid, folder); waitedMs += 20) {
    // Two processes over the same objects would lose what both write.
    if (waitedMs > WAIT_MS) throw new Error(`the process ${pid} of the folder ${folder} could not be ended`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function readPid(file: string): number | null {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    return Number.isInteger(pid) && pid > 1 ? pid : null;
  } catch {
    return null;
  }
}

/** Ids are given again: a process is ours whose command names the file. One that is dead and not yet awaited names none. */
function isOurs(pid: number, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(folder, 'config.capnp'));
  } catch {
    return false;
  }
}
