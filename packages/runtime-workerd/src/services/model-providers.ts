/** The operator's providers of language models, as deployed verticals may use them: by address, and by the names of keys. */

export interface ModelProviders {
  /** The operator's settings, with the name of each key (`held:NAME`) in place of the key. */
  readonly settings: Readonly<Record<string, string>>;
  /** Whether an address is below that of a provider which the operator set up. */
  has(url: URL): boolean;
  /** The key of that name; null for an address that is not its own provider's. */
  secret(name: string, url: URL): string | null;
}

/** The addresses of providers, where the operator set none. */
const DEFAULTS: Readonly<Record<string, string>> = {
  FREEHOLD_MODEL_OPENAI: 'https://api.openai.com',
  FREEHOLD_MODEL_ANTHROPIC: 'https://api.anthropic.com',
  FREEHOLD_MODEL_GOOGLE: 'https://generativelanguage.googleapis.com',
};

const SETTING = /^(?<provider>.+)_(?:API_KEY|BASE_URL)$/;
const IS_KEY = /_API_KEY$/;

/** @param models the operator's variables about language models, by name. */
export function makeModelProviders(models: Readonly<Record<string, string>>): ModelProviders {
  const bases = new Map(
    Object.keys(models).flatMap((name) => {
      const provider = SETTING.exec(name)?.groups?.provider;
      const base = provider && (models[`${provider}_BASE_URL`] ?? DEFAULTS[provider]);
      return provider && base ? [[provider, new URL(base)] as const] : [];
    }),
  );
  return {
    settings: Object.fromEntries(
      Object.entries(models).map(([name, value]) => [name, IS_KEY.test(name) ? `held:${name}` : value]),
    ),
    has: (url) => [...bases.values()].some((base) => isBelow(base, url)),
    secret: (name, url) => {
      const base = IS_KEY.test(name) ? bases.get(name.replace(IS_KEY, '')) : undefined;
      return base && isBelow(base, url) ? (models[name] ?? null) : null;
    },
  };
}

/** Another path of the same origin may be another service of the operator. */
function isBelow(base: URL, url: URL): boolean {
  const path = base.pathname.replace(/\/*$/, '/');
  return base.origin === url.origin && `${url.pathname}/`.startsWith(path);
}
