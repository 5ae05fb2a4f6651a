/** The faults that an operator is told of: the archive, backups, what `/readyz` says, the admin log, and the disks. */
import { statfsSync } from 'node:fs';
import type { Degradation } from '@freehold/control-plane';
import type { SweepUnit } from '@freehold/directory';
import type { NodeEngine } from '@freehold/engine-node';
import { z } from 'zod';
import { archiveVerdict, attachmentsVerdict } from '../jobs/jobs.ts';
import type { BlobArchive } from '../storage/blob-archive.ts';
import type { Condition } from './alerts.ts';

const DAY_MS = 24 * 60 * 60_000;
/** A disk of more than 100 GiB may have less than a tenth free. */
const FREE_SHARE = 0.1;
const FREE_BYTES = 10 * 1024 ** 3;

/** The memory that outlives a restart: without it, a fault that is not looked into at once would seem to be over. */
export const memorySchema = z.object({
  /** Units whose last backup failed, and when that was last said, in milliseconds since the epoch. */
  failedBackups: z.record(z.string(), z.number()),
  chain: z.object({ key: z.string(), detail: z.string() }).nullable(),
});
export type Memory = z.infer<typeof memorySchema>;

export interface Disk {
  /** Its name in messages: `data`. */
  readonly name: string;
  readonly path: string;
}

/** Bytes of a file system: those that an ordinary user may still write, and all. */
export interface Room {
  readonly freeBytes: number;
  readonly bytes: number;
}

export interface ConditionsOptions {
  readonly archive: Pick<NodeEngine, 'archiveStatus'>;
  /** Null without an archive. */
  readonly blobArchive: Pick<BlobArchive, 'status'> | null;
  readonly degraded: () => readonly Degradation[];
  readonly verify: () => Promise<{
    readonly status: string;
    readonly firstBad: { readonly sequence: number; readonly reason: string } | null;
  }>;
  readonly disks: readonly Disk[];
  /** Of the process before; null for none. */
  readonly memory: Memory | null;
  /** The interval of backups: a unit of which nothing is said for twice as long is gone. */
  readonly backupEveryMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Default: the file system's own figures; null for a path that cannot be asked. */
  readonly roomOf?: (path: string) => Room | null;
}

export class Conditions {
  readonly #options: ConditionsOptions;
  readonly memory: Memory;

  constructor(options: ConditionsOptions) {
    this.#options = options;
    this.memory = options.memory ?? { failedBackups: {}, chain: null };
  }

  /** Notes the outcome of a backup. One that was skipped says nothing. */
  onBackup({ unit, outcome }: Pick<SweepUnit, 'unit' | 'outcome'>): void {
    if (outcome === 'failed') this.memory.failedBackups[unit] = this.#options.now();
    else if (outcome === 'swept') delete this.memory.failedBackups[unit];
  }

  /** Verifies the admin log, whose cost grows with it: once a day. Rejects when the witness cannot be asked. */
  async verify(): Promise<void> {
    const { status, firstBad } = await this.#options.verify();
    this.memory.chain =
      status === 'broken'
        ? {
            key: 'admin_log_broken',
            detail: `The chain of the admin log does not hold: ${firstBad?.reason ?? 'unknown'} at row ${firstBad?.sequence ?? 'unknown'}.`,
          }
        : null;
  }

  /** The present faults. */
  observe(): readonly Condition[] {
    const { degraded, disks, roomOf = askRoom } = this.#options;
    return [
      ...this.#archive(),
      ...this.#backups(),
      ...degraded().map(({ reason, detail }) => ({ key: reason, detail })),
      ...(this.memory.chain === null ? [] : [this.memory.chain]),
      ...disks.flatMap(({ name, path }) => fillingOf(name, roomOf(path))),
    ];
  }

  #backups(): readonly Condition[] {
    const { backupEveryMs, now } = this.#options;
    const { failedBackups } = this.memory;
    for (const [unit, atMs] of Object.entries(failedBackups))
      if (now() - atMs > 2 * backupEveryMs + DAY_MS) delete failedBackups[unit];
    return Object.keys(failedBackups).length === 0
      ? []
      : [
          {
            key: 'backup_failed',
            detail:
              'A scheduled backup failed: freehold sweep-runs list --kind backup --outcome failed names each.',
          },
        ];
  }

  #archive(): readonly Condition[] {
    const { archive, blobArchive } = this.#options;
    const verdicts = [
      archiveVerdict(archive.archiveStatus()),
      blobArchive && attachmentsVerdict(blobArchive.status()),
    ];
    const stale = verdicts.find((verdict) => verdict?.outcome === 'stale');
    if (!stale) return [];
    return [
      stale.reason === 'archive_not_ours'
        ? {
            key: 'archive_refused',
            detail: 'The archive belongs to another data directory: nothing is archived.',
          }
        : {
            key: 'archive_lagging',
            detail:
              'Changes of more than ten minutes ago have not reached the archive: a lost disk would lose them.',
          },
    ];
  }
}

function fillingOf(name: string, room: Room | null): readonly Condition[] {
  if (room === null || room.freeBytes >= Math.min(room.bytes * FREE_SHARE, FREE_BYTES)) return [];
  const free = `${Math.floor(room.freeBytes / 1024 ** 2)} of ${Math.floor(room.bytes / 1024 ** 2)} MiB are free`;
  return [{ key: `disk_filling_${name}`, detail: `The disk of the ${name} fills: ${free}. Make room.` }];
}

function askRoom(path: string): Room | null {
  try {
    const { bavail, blocks, bsize } = statfsSync(path);
    return { freeBytes: bavail * bsize, bytes: blocks * bsize };
  } catch {
    return null;
  }
}
