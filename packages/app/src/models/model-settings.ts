/**
 * Which language model writes, and within which bounds. The model and the bounds are settings: delivered, then bound,
 * then the default. What it takes to reach a provider, and prices, are bound alone: the platform holds them (spec D-21).
 */
import { PlatformError } from '@freehold/contracts';
import {
  createModelHost,
  MODEL_FACTORIES,
  parseModelSpec,
  RATE_CARD,
  type RateCard,
} from '@freehold/vertical-host/model';
import { z } from 'zod';
import { MODEL_SETTING_NAMES } from '../declaration/supplied.ts';
import { type ModelAccess, modelAccess } from '../model-accounting/schema.ts';

type Texts = Readonly<Record<string, unknown>>;

/** The person who sets what is missing, for a member to read. */
const OPERATOR = 'the operator of this platform';

export interface ModelSettings {
  readonly spec: string;
  readonly access: ModelAccess;
  /** Null for no limit. */
  readonly tokensMonthly: number | null;
  readonly rateCard: RateCard;
}

/**
 * Reads what an instance is set up with.
 * @param settings the resolved ones of the manifest.
 * @param bindings the worker's, of which those about models are read.
 * @throws PlatformError `unavailable`, reason `model_not_configured`: one sentence with what is missing and who sets it.
 */
export function readModelSettings(settings: Texts, bindings: Texts): ModelSettings {
  const { FREEHOLD_MODEL: spec, FREEHOLD_MODEL_ACCESS, FREEHOLD_MODEL_TOKENS_MONTHLY } = settings;
  if (typeof spec !== 'string' || spec === '')
    throw notConfigured(`none is set up here: ${OPERATOR} names one in FREEHOLD_MODEL.`);
  const { lacks, detail, configured } = statusOf(spec, bindings);
  if (!configured)
    throw notConfigured(
      lacks.length > 0
        ? `the one that is named here cannot be reached yet: ${OPERATOR} sets ${lacks.join(' and ')}.`
        : `the one that is named here cannot be used (${detail?.replace(/\.$/, '')}): ${OPERATOR} names another in FREEHOLD_MODEL.`,
    );
  const access = modelAccess.safeParse(FREEHOLD_MODEL_ACCESS);
  const tokensMonthly = readTokens(FREEHOLD_MODEL_TOKENS_MONTHLY);
  const rateCard = readRateCard(bindings.FREEHOLD_MODEL_RATE_CARD);
  if (!access.success) throw unusable('FREEHOLD_MODEL_ACCESS');
  if (tokensMonthly === undefined) throw unusable('FREEHOLD_MODEL_TOKENS_MONTHLY');
  if (rateCard === undefined) throw unusable('FREEHOLD_MODEL_RATE_CARD');
  return { spec, access: access.data, tokensMonthly, rateCard };
}

/**
 * The first fault in the settings that a platform binds all instances to, in one sentence for its operator; null when
 * there is none, also without any setting about models.
 * @param bindings those that are set, by name.
 */
export function findModelFault(bindings: Readonly<Record<string, string>>): string | null {
  const names = Object.keys(bindings);
  const unknown = names.find((name) => !KNOWN.has(name));
  if (unknown !== undefined)
    return `${unknown} is not a setting: those about language models are ${[...KNOWN].sort().join(', ')}.`;
  const { FREEHOLD_MODEL: spec } = bindings;
  if (spec === undefined)
    return names[0] === undefined
      ? null
      : `FREEHOLD_MODEL is missing: ${names[0]} is of no use without the model to ask, such as openai-compatible:llama3.2:3b.`;
  try {
    parseModelSpec(spec);
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return 'FREEHOLD_MODEL cannot be used: must be a provider and a model, such as openai-compatible:llama3.2:3b.';
  }
  const { lacks, detail, configured } = statusOf(spec, bindings);
  const [missing] = lacks;
  if (missing === 'aiBinding')
    return 'FREEHOLD_MODEL cannot be used: models of workers-ai are reached from a worker alone.';
  if (missing !== undefined) return lackOf(missing, bindings, `FREEHOLD_MODEL is ${spec}, which needs it`);
  if (!configured) return `FREEHOLD_MODEL cannot be used: ${detail}`;
  if (
    bindings.FREEHOLD_MODEL_ACCESS !== undefined &&
    !modelAccess.safeParse(bindings.FREEHOLD_MODEL_ACCESS).success
  )
    return 'FREEHOLD_MODEL_ACCESS cannot be used: must be all or entitled.';
  if (
    bindings.FREEHOLD_MODEL_TOKENS_MONTHLY !== undefined &&
    readTokens(bindings.FREEHOLD_MODEL_TOKENS_MONTHLY) === undefined
  )
    return 'FREEHOLD_MODEL_TOKENS_MONTHLY cannot be used: must be a whole number of tokens, or none.';
  if (readRateCard(bindings.FREEHOLD_MODEL_RATE_CARD) === undefined)
    return 'FREEHOLD_MODEL_RATE_CARD cannot be used: must be a rate card in JSON, as docs/models.md shows one.';
  return findHalfRow(bindings);
}

/** Every binding that is about models. */
const KNOWN: ReadonlySet<string> = new Set([
  ...MODEL_SETTING_NAMES,
  'FREEHOLD_MODEL_RATE_CARD',
  ...Object.values(MODEL_FACTORIES).flatMap(({ variables }) => variables.map(({ name }) => name)),
]);

/** Makes no request: it is a model host's report on its settings. */
function statusOf(spec: string, env: Texts) {
  return createModelHost({ env, guard: () => undefined, record: () => undefined }).status(spec);
}

/** A row that is not the chosen one's is there for instances that were delivered another model: it has to work, too. */
function findHalfRow(bindings: Readonly<Record<string, string>>): string | null {
  for (const [row, { variables }] of Object.entries(MODEL_FACTORIES)) {
    const given = variables.find(({ name }) => bindings[name] !== undefined);
    if (!given) continue;
    const [missing] = statusOf(`${row}:any`, bindings).lacks;
    if (missing !== undefined) return lackOf(missing, bindings, `${given.name} is of no use without it`);
  }
  return null;
}

function lackOf(name: string, bindings: Readonly<Record<string, string>>, why: string): string {
  if (bindings[name] === undefined) return `${name} is missing: ${why}.`;
  return name.endsWith('_URL')
    ? `${name} cannot be used: must be an http or https address without a password, a query or a fragment.`
    : `${name} cannot be used: must be visible ASCII without spaces.`;
}

function readTokens(text: unknown): number | null | undefined {
  if (text === 'none') return null;
  return typeof text === 'string' && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}

const price = z.string().regex(/^\d{1,9}(?:\.\d{1,6})?$/);
const prices = {
  input: price,
  cachedInput: price.exactOptional(),
  cacheWrite: price.exactOptional(),
  output: price,
};
const rateCardText = z.record(
  z.string(),
  z.strictObject({
    asOf: z.iso.date(),
    source: z.string(),
    models: z.record(
      z.string(),
      z.strictObject({
        ...prices,
        longPrompt: z.strictObject({ ...prices, over: z.int().min(0) }).exactOptional(),
      }),
    ),
  }),
);

/** The shipped card, with the rows that are given in place of its own; undefined when they are none. */
function readRateCard(text: unknown): RateCard | undefined {
  if (text === undefined || text === null || text === '') return RATE_CARD;
  try {
    const { data } = rateCardText.safeParse(JSON.parse(String(text)));
    return data && { ...RATE_CARD, ...data };
  } catch {
    return undefined;
  }
}

function notConfigured(rest: string): PlatformError {
  return new PlatformError('unavailable', `This needs a language model, and ${rest}`, {
    reason: 'model_not_configured',
  });
}

function unusable(name: string): PlatformError {
  return notConfigured(`${name} is set to something that cannot be used: ${OPERATOR} corrects it.`);
}
