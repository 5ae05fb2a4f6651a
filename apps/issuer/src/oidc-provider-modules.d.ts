// The package's entry module prints a warning about every Node build without an LTS name. Its inner modules
// do not, and a development tool should start quietly; the exact version is pinned in package.json.
declare module 'oidc-provider/lib/provider.js' {
  import Provider from 'oidc-provider';

  export { Provider };
}

declare module 'oidc-provider/lib/helpers/interaction_policy/index.js' {
  import { interactionPolicy } from 'oidc-provider';
  export import Prompt = interactionPolicy.Prompt;
  export import base = interactionPolicy.base;
}

declare module 'oidc-provider/lib/helpers/errors.js' {
  import { errors } from 'oidc-provider';
  export import InvalidTarget = errors.InvalidTarget;
}
