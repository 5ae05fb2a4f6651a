/** The page's way to the API: the one that every other client uses. */

/** @throws Error with the sentence of the refusal; leads to the sign-in where one is needed. */
export async function api<T>(path: string, body?: unknown): Promise<T> {
  const post = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const response = await fetch(path, body === undefined ? {} : post);
  const answer = await response.json();
  if (response.status === 401 && answer.loginUrl !== undefined) location.assign(answer.loginUrl);
  if (response.ok) return answer as T;
  const [first] = answer.errors ?? [];
  throw new Error(first === undefined ? answer.detail : `${first.path} ${first.message}`);
}
