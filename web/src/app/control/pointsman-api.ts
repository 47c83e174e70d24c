import { Injectable } from '@angular/core';

import { OperatorKey } from './operator-key';

/** A topic of the broker, as people choose one. */
export interface Topic {
  readonly name: string;
  readonly partitions: number;
  readonly records: number;
}

export interface Wish {
  readonly [field: `${string}Topic`]: string;
  readonly joinType?: string;
  readonly rollback?: boolean;
}

export interface Check {
  readonly source: string;
  readonly topic: string;
  readonly ok: boolean;
  readonly says: string;
}

export interface Plan {
  readonly outcome: 'applied' | 'unchanged' | 'refused';
  readonly reason: string;
  readonly steps: readonly string[];
  readonly checks: readonly Check[];
}

export interface Verdict {
  readonly verdict: string;
  readonly reason: string;
  readonly generation: number | null;
  readonly durationMs: number;
  readonly requestId: string | null;
}

/** Not decided yet: the verdict will be under this request id. */
export interface Accepted {
  readonly accepted: true;
  readonly requestId: string;
}

export interface ApiStatus {
  readonly status: Readonly<Record<string, string | number | null>> | null;
}

export interface HistoryPoint {
  readonly at: number;
  readonly rate: number | null;
  readonly lag: number | null;
  readonly freshness: number | null;
}

const TIMEOUT_MS = 5_000;
const CONTROL_TIMEOUT_MS = 30_000;

/** A refusal of the API, in its own words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The small API of the web server that this page came from. */
@Injectable({ providedIn: 'root' })
export class PointsmanApi {
  constructor(private readonly key: OperatorKey) {}

  status(): Promise<ApiStatus> {
    return this.get<ApiStatus>('/api/status');
  }

  async history(): Promise<readonly HistoryPoint[]> {
    return (await this.get<{ history: readonly HistoryPoint[] }>('/api/history')).history;
  }

  async topics(): Promise<readonly Topic[]> {
    return (await this.get<{ topics: readonly Topic[] }>('/api/topics', TIMEOUT_MS * 3)).topics;
  }

  plan(wish: Wish): Promise<Plan> {
    return this.post<Plan>('/api/plan', wish, TIMEOUT_MS * 3);
  }

  control(wish: Wish): Promise<Verdict | Accepted> {
    return this.post<Verdict | Accepted>('/api/control', wish, CONTROL_TIMEOUT_MS);
  }

  private get<T>(path: string, timeoutMs = TIMEOUT_MS): Promise<T> {
    return this.call<T>(path, {}, timeoutMs);
  }

  private post<T>(path: string, body: Wish, timeoutMs: number): Promise<T> {
    const headers: Record<string, string> = { 'Content-Type': 'application/json' };
    if (this.key.value() !== '') {
      headers['Authorization'] = `Bearer ${this.key.value()}`;
    }
    return this.call<T>(path, { method: 'POST', headers, body: JSON.stringify(body) }, timeoutMs);
  }

  private async call<T>(path: string, init: RequestInit, timeoutMs: number): Promise<T> {
    const response = await fetch(path, { ...init, cache: 'no-store', signal: AbortSignal.timeout(timeoutMs) });
    const body: unknown = await response.json().catch(() => null);
    if (!response.ok) {
      throw new ApiError(response.status, errorText(body) ?? `the web server answered ${response.status}`);
    }
    return body as T;
  }
}

function errorText(body: unknown): string | null {
  if (typeof body === 'object' && body !== null && 'error' in body) {
    return String(body.error);
  }
  return null;
}
