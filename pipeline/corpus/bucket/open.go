// Package bucket opens S3-compatible buckets as files roots. It owns the way to the
// store: addresses, credentials, keys as the store has them, and what its errors
// mean. What of a bucket is a document is [corpus.Bucket]'s to say.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	gcaws "gocloud.dev/aws"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"graphmill/pipeline/corpus"
)

// Scheme is that of the addresses that Open takes.
const Scheme = "s3"

// ErrUnreachable is the kind of errors of Open that may pass by themselves: no
// setting is known to be wrong.
var ErrUnreachable = errors.New("the bucket cannot be reached")

// Is reports whether a files root is named by a bucket's address.
func Is(root string) bool { return strings.HasPrefix(root, Scheme+"://") }

// anyRegion signs requests to endpoints that are not Amazon's, which take any.
const anyRegion = "us-east-1"

// Open opens s3://BUCKET/PREFIX?region=…&endpoint=… as a files root, and looks
// whether it may be listed. Credentials come from where the AWS SDK finds them.
// Other parameters are those of gocloud.dev/aws, use_path_style (true when there is
// an endpoint) and disable_https. An error that is not [ErrUnreachable] is of the
// address or of settings.
func Open(ctx context.Context, address string, options corpus.Options) (*corpus.Bucket, error) {
	at, err := parse(address)
	if err != nil {
		return nil, err
	}
	client, err := at.client(ctx)
	if err != nil {
		return nil, fmt.Errorf("open files root %s: %w", at.name(), err)
	}
	opened, err := s3blob.OpenBucket(ctx, client, at.bucket, nil)
	if err != nil {
		return nil, fmt.Errorf("open files root %s: %w", at.name(), err)
	}
	root, err := New(opened, at.prefix, at.name(), options)
	if err != nil {
		opened.Close()
		return nil, err
	}
	if err := root.Check(ctx); err != nil {
		root.Close()
		if errors.Is(err, corpus.ErrSilent) {
			err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return nil, err
	}
	return root, nil
}

// New makes a files root of what is under a prefix of a bucket; the graph knows it
// by name. It closes the bucket.
func New(opened *blob.Bucket, prefix, name string, options corpus.Options) (*corpus.Bucket, error) {
	return corpus.NewBucket(&objects{opened}, prefix, name, options)
}

// place is a bucket's address.
type place struct {
	bucket, prefix, endpoint string
	query                    url.Values // of gocloud.dev/aws
	pathStyle, plain         bool
}

func parse(address string) (place, error) {
	wrong := func(format string, values ...any) (place, error) {
		return place{}, fmt.Errorf("open files root: "+format+"; an address is s3://BUCKET/PREFIX?region=…&endpoint=…", values...)
	}
	u, err := url.Parse(address)
	if err != nil {
		return wrong("the address cannot be read") // the error holds it whole
	}
	if u.User != nil {
		return wrong("an address holds no credentials: give them as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or by AWS_PROFILE")
	}
	at := place{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), query: u.Query()}
	switch {
	case u.Scheme != Scheme || u.Opaque != "":
		return wrong("%q is not the address of a bucket", u.Scheme+":…")
	case at.bucket == "":
		return wrong("the address names no bucket")
	case u.Fragment != "":
		return wrong("what follows # is not used; write it as %%23")
	}
	if at.endpoint = at.query.Get("endpoint"); at.endpoint != "" {
		e, err := url.Parse(at.endpoint)
		if err != nil || e.User != nil || e.Host == "" || e.Scheme != "http" && e.Scheme != "https" {
			return wrong("endpoint is not http:// or https:// and a host")
		}
		at.endpoint = strings.TrimSuffix(at.endpoint, "/")
		at.query.Set("endpoint", at.endpoint)
	}
	if at.pathStyle, err = takeBool(at.query, "use_path_style", at.endpoint != ""); err == nil {
		at.plain, err = takeBool(at.query, "disable_https", false)
	}
	if err != nil {
		return wrong("%v", err)
	}
	return at, nil
}

func takeBool(query url.Values, name string, otherwise bool) (bool, error) {
	text := query.Get(name)
	query.Del(name)
	if text == "" {
		return otherwise, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s is neither true nor false", name)
	}
	return value, nil
}

// name tells buckets apart. How one is reached and as whom is not part of it.
func (p place) name() string {
	u := url.URL{Scheme: Scheme, Host: p.bucket, Path: p.prefix}
	if p.endpoint != "" {
		u.RawQuery = url.Values{"endpoint": {p.endpoint}}.Encode()
	}
	return u.String()
}

func (p place) client(ctx context.Context) (*s3.Client, error) {
	if p.endpoint != "" && p.query.Get("region") == "" && os.Getenv("AWS_REGION") == "" && os.Getenv("AWS_DEFAULT_REGION") == "" {
		p.query.Set("region", anyRegion)
	}
	config, err := gcaws.V2ConfigFromURLParams(ctx, p.query)
	if err != nil {
		return nil, err
	}
	if config.Region == "" {
		return nil, errors.New("no region is known; add region=… to the address or set AWS_REGION")
	}
	return s3.NewFromConfig(config, func(o *s3.Options) {
		o.UsePathStyle = p.pathStyle
		o.EndpointOptions.DisableHTTPS = p.plain
		// Stores that have no checksum are many; the ETag tells changes.
		o.DisableLogOutputChecksumValidationSkipped = true
		o.APIOptions = append(o.APIOptions, decodeKeys)
	}), nil
}
