/** `.freehold/dev.json`: the secrets of a development server, made at its first start and kept between starts. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { DevError } from '../lib/dev-error.ts';
import type { Project } from './project.ts';

/** The form of the folder. A later one is refused: this program would misread it. */
const FORMAT = 2;

const stored = z.object({
  format: z.literal(FORMAT),
  platformSecret: z.string().min(32),
  sealKey: z.string().min(32),
  clientSecret: z.string().min(32),
  cookieKey: z.string().min(32),
  issuerKeys: z.record(z.string(), z.unknown()),
  /** The port of the issuer whose people are known here; null before the first start. */
  issuerPort: z.int().nullable(),
  /** Whether the people of the first start were made. */
  peopled: z.boolean(),
  /** The seed module that was run; null for none. */
  seeded: z.string().nullable(),
});

export type DevState = z.infer<typeof stored>;

export function dataDirectoryOf({ folder }: Pick<Project, 'folder'>): string {
  return join(folder, 'data');
}

/** Reads the state, or makes it. @throws DevError for one that is damaged or of a newer version. */
export async function loadState(project: Project, makeIssuerKeys: () => Promise<unknown>): Promise<DevState> {
  const path = pathIn(project);
  if (existsSync(path)) return readState(path);
  if (existsSync(dataDirectoryOf(project))) throw damaged(path, 'it is missing, although there is data');
  const state: DevState = {
    format: FORMAT,
    platformSecret: secret(),
    sealKey: secret(),
    clientSecret: secret(),
    cookieKey: secret(),
    issuerKeys: (await makeIssuerKeys()) as Record<string, unknown>,
    issuerPort: null,
    peopled: false,
    seeded: null,
  };
  mkdirSync(project.folder, { recursive: true, mode: 0o700 });
  // The data of a developer is not committed by accident.
  writeFileSync(join(project.folder, '.gitignore'), '*\n');
  saveState(project, state);
  return state;
}

/** Stores it whole or not at all, for its owner alone. */
export function saveState(project: Pick<Project, 'folder'>, state: DevState): void {
  const path = pathIn(project);
  const draft = `${path}.draft`;
  writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(draft, path);
}

/** Removes everything that `freehold dev` keeps. Returns false where there was nothing. */
export function removeState({ folder }: Pick<Project, 'folder'>): boolean {
  if (!existsSync(folder)) return false;
  rmSync(folder, { recursive: true });
  return true;
}

function readState(path: string): DevState {
  let found: unknown;
  try {
    found = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw damaged(path, 'it is no JSON', cause);
  }
  const { format } = z.object({ format: z.number() }).safeParse(found).data ?? {};
  if (format !== undefined && format > FORMAT)
    throw new DevError(
      'conflict',
      `${path} was written by a newer version of Freehold: install that version of @freehold/dev, or begin anew with freehold dev --fresh.`,
    );
  if (format !== undefined && format < FORMAT)
    throw new DevError(
      'conflict',
      `${path} is of an earlier version of Freehold, which kept the data in another form: begin anew with freehold dev --fresh. It deletes .freehold; copy that first where you need what is in it.`,
    );
  const state = stored.safeParse(found);
  if (state.success) return state.data;
  throw damaged(path, 'it lacks something', state.error);
}

function damaged(path: string, why: string, cause?: unknown): DevError {
  return new DevError(
    'unavailable',
    `${path} cannot be used (${why}): put it back, or begin anew with freehold dev --fresh.`,
    { cause },
  );
}

function pathIn({ folder }: Pick<Project, 'folder'>): string {
  return join(folder, 'dev.json');
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}
