/** The reasons of a failed model call, beside the platform's codes (spec 2.7). */

/**
 * | reason                 | code                | what it means                                                         |
 * | ---------------------- | ------------------- | --------------------------------------------------------------------- |
 * | `model_spec`           | `validation_failed` | the name of the model has not the form `<provider_row>:<model_id>`    |
 * | `model_provider`       | `unsupported`       | there is no such row of providers                                     |
 * | `model_unknown`        | `unsupported`       | the provider has no such model, or this account may not use it        |
 * | `model_not_configured` | `unavailable`       | the platform lacks what the row needs; `status` says what             |
 * | `model_credentials`    | `unavailable`       | the provider does not accept the platform's credentials               |
 * | `model_quota`          | `unavailable`       | the platform's account with the provider is used up                   |
 * | `model_rate_limited`   | `rate_limited`      | the provider is asked too often; `Retry-After` when it says so        |
 * | `model_unreachable`    | `unavailable`       | no connection to the provider, or it broke                            |
 * | `model_timeout`        | `unavailable`       | the provider took longer than `timeoutMs`                             |
 * | `model_unavailable`    | `unavailable`       | the provider says that it is overloaded or broken                     |
 * | `model_context`        | `payload_too_large` | the prompt is longer than the model can read                          |
 * | `model_refused`        | `forbidden`         | the provider's rules on content: it did not answer, or stopped        |
 * | `model_request`        | `runtime_fault`     | the provider does not understand the request                          |
 * | `model_answer`         | `runtime_fault`     | the answer cannot be read, or it broke off                            |
 * | `model_failed`         | `runtime_fault`     | something else in the provider's library                              |
 */
export type ModelRefusal =
  | 'model_spec'
  | 'model_provider'
  | 'model_unknown'
  | 'model_not_configured'
  | 'model_credentials'
  | 'model_quota'
  | 'model_rate_limited'
  | 'model_unreachable'
  | 'model_timeout'
  | 'model_unavailable'
  | 'model_context'
  | 'model_refused'
  | 'model_request'
  | 'model_answer'
  | 'model_failed';
