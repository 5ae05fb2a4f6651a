/**
 * The embedded engine over copied databases: applying all migrations costs 20 ms of CPU for each new unit, a copy
 * of a migrated file less than one.
 */
import { createHash, randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type NodeEngine, type NodeEngineOptions, openNodeEngine } from '@freehold/engine-node';
import { type Engine, openUnit, type UnitDefinition, type UnitMethods } from '@freehold/store';
import { openNodeDatabase } from '../../engine-node/src/lib/node-database.ts';

/** The limit of a query from outside. The platform's is five seconds, which a query without an end uses up. */
const INSPECT_MS_MAX = 1_000;

/**
 * Opens the engine as `openNodeEngine` does. A new unit begins as a copy of a migrated template, so its migration
 * journal shows the template's time unless `now` is given.
 */
export function openTestEngine(options: NodeEngineOptions): NodeEngine {
  const engine = openNodeEngine(options);
  const { dataDirectory, now = Date.now } = options;
  const unit: Engine['unit'] = (definition, key, unitOptions = {}) => {
    const stub = engine.unit(definition, key, unitOptions);
    if (!unitOptions.create) return stub;
    // The engine does not look for the file before the first call.
    let isPlaced = false;
    return new Proxy(stub, {
      get: (target, method, receiver) => {
        if (!isPlaced && typeof method === 'string' && method !== 'then') {
          isPlaced = true;
          placeTemplate(definition, join(dataDirectory, definition.kind, `${key}.sqlite`), now());
        }
        return Reflect.get(target, method, receiver);
      },
    });
  };
  const tools: NodeEngine['tools'] = (definition, key) => {
    const made = engine.tools(definition, key);
    return {
      ...made,
      inspect: (request) => made.inspect({ ...request, timeMs: Math.min(request.timeMs, INSPECT_MS_MAX) }),
    };
  };
  return new Proxy(engine, {
    get: (target, member, receiver) =>
      member === 'unit' ? unit : member === 'tools' ? tools : Reflect.get(target, member, receiver),
  });
}

/**
 * Copies a migrated database to the path of a unit that is about to be created. Does nothing when there is a file.
 */
function placeTemplate<M extends UnitMethods>(
  definition: UnitDefinition<M>,
  database: string,
  nowMs: number,
): void {
  if (existsSync(database)) return;
  const template = templateOf(definition);
  if (!template) return;
  mkdirSync(dirname(database), { recursive: true, mode: 0o700 });
  const copy = `${database}.template`;
  copyFileSync(template, copy);
  stampJournal(copy, nowMs);
  renameSync(copy, database);
}

/**
 * Returns the migrated file of a kind of unit, made once for all processes of a test run, or null when it cannot
 * be migrated.
 */
function templateOf<M extends UnitMethods>(definition: UnitDefinition<M>): string | null {
  const known = templates.get(definition);
  if (known !== undefined) return known;
  const digest = createHash('sha256')
    .update(JSON.stringify([process.version, definition.kind, definition.migrations]))
    .digest('hex')
    .slice(0, 32);
  const path = join(tmpdir(), 'freehold-templates', `${digest}.sqlite`);
  const made = existsSync(path) || makeTemplate(definition, path) ? path : null;
  templates.set(definition, made);
  return made;
}

// biome-ignore lint/suspicious/noExplicitAny: only the identity of a definition matters here.
const templates = new WeakMap<UnitDefinition<any>, string | null>();

function makeTemplate<M extends UnitMethods>(definition: UnitDefinition<M>, path: string): boolean {
  const scratch = mkdtempSync(join(tmpdir(), 'freehold-template-'));
  const file = join(scratch, 'template.sqlite');
  try {
    const database = openNodeDatabase(file);
    try {
      openUnit(
        { ...definition, open: () => ({}) as M },
        {
          key: 'template',
          db: database.db,
          guarded: (guard) => database.guarded(guard),
          transact: (work) => database.transact(work),
          schedule: () => undefined,
          now: () => 0,
          random: (bytes) => randomBytes(bytes),
          onIncident: () => undefined,
        },
        { create: true },
      );
    } catch {
      // The unit itself must fail, where its test can see it.
      return false;
    } finally {
      database.close();
    }
    mkdirSync(dirname(path), { recursive: true });
    const next = `${path}.${randomBytes(6).toString('hex')}`;
    copyFileSync(file, next);
    renameSync(next, path);
    return true;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function stampJournal(path: string, nowMs: number): void {
  const database = new DatabaseSync(path);
  try {
    database.prepare('UPDATE _spine_migrations SET applied_at = ?').run(nowMs);
  } finally {
    database.close();
  }
}
