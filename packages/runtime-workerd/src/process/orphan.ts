/** The end of a process that outlived its platform: it still has the objects open. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONTROL } from './command.ts';

/** The longest wait for the end of killed processes. */
const WAIT_MS = 5_000;

/** Kills the processes that were started in this folder and still run, and waits until they are gone. */
export async function endOrphans(folder: string): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += 20) {
    const orphans = processesOf(folder);
    if (orphans.length === 0) return;
    // Two processes over the same objects would lose what both write.
    if (waitedMs > WAIT_MS)
      throw new Error(`the process ${orphans[0]} of the folder ${folder} could not be ended`);
    for (const pid of orphans) end(pid);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The ids of the processes of a folder, the walls around them included; none where the system does not tell. */
export function processesOf(folder: string): number[] {
  const config = join(folder, 'config.capnp');
  return idsHere().filter((pid) => {
    const words = wordsOf(pid);
    // An editor has the same file open, and is not ours.
    return words.includes(config) && words.includes(CONTROL);
  });
}

function idsHere(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

/** The words of the command. One that is dead and not yet awaited has none. */
function wordsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}
